"""run.json: what a run did and found, after the schema in `run.schema.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tilewright.vocabulary.task_set import TaskSet
from tilewright_pipeline.context.events import Section, StageOutcome
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.context.time_text import milliseconds_text
from tilewright_pipeline.measuring.device_shares import faults_told, trials_told
from tilewright_pipeline.measuring.measurement_spent import summed
from tilewright_pipeline.run.run_setup_entry import setup_entry
from tilewright_pipeline.tuning.task_entry import task_entry
from tilewright_pipeline.writing import write_whole

SCHEMA_FILE = Path(__file__).with_name("run.schema.json")
_OWN = frozenset(
    (
        *("version", "name", "target", "device", "devices", "setup"),
        *("models", "stages", "to_come", "tasks", "networks"),
    )
)


class RunReport:
    """Grows stage by stage; `write` puts it whole into the run's folder."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._started = datetime.now(UTC)
        self._stages: list[dict[str, Any]] = []
        self._members: dict[str, Any] = {}
        self._tasks: TaskSet | None = None
        self._models: Sequence[Mapping[str, str]] = ()

    def note_tasks(self, tasks: TaskSet | None) -> None:
        """Remember the tasks there are by now."""
        self._tasks = tasks

    def note_models(self, models: Sequence[Mapping[str, str]]) -> None:
        """Remember the run's models, as `claim` returns them."""
        self._models = models

    def add(self, outcome: StageOutcome, options: Mapping[str, Any] = {}) -> None:
        """Take a stage's outcome in, and its options; several stages may fill one member."""
        entry = {"name": outcome.name, "status": outcome.status}
        self._stages.append(
            {**entry, "seconds": round(outcome.seconds, 6), "options": dict(options)}
        )
        _merge(self._members, outcome.report)

    def content(self, to_come: Sequence[str] = ()) -> dict[str, Any]:
        """The report as it stands.

        to_come   names of the stages that are left, of a run that goes on
        """
        context = self._context
        tasks = [task_entry(entry, context) for entry in self._tasks or ()]
        measurement = {"trials": 0, "failures": 0, "seconds": 0.0, "trials_per_second": 0.0}
        return {
            "version": 1,
            "name": context.name,
            "target": str(context.target),
            "device": context.device.to_json(),
            **({"devices": list(context.devices)} if context.devices else {}),
            "setup": setup_entry(context, self._started),
            **({"models": list(self._models)} if self._models else {}),
            "stages": self._stages,
            **({"to_come": list(to_come)} if to_come else {}),
            "tasks": tasks,
            "measurement": measurement,
            **self._members,
        }

    def write(self, to_come: Sequence[str] = ()) -> Path:
        """Write run.json, whole or not at all. Raises UsageError where it cannot be written."""
        path = self._context.folder / "run.json"
        text = json.dumps(self.content(to_come), indent=2, allow_nan=False) + "\n"
        write_whole(path, text, "the report")
        return path


def check_report(report: Mapping[str, Any]) -> None:
    """Raise ValueError or TypeError where a stage's report is nothing for run.json."""
    if taken := sorted(_OWN & set(report)):
        raise ValueError(f"the members {', '.join(taken)} of run.json are no stage's to fill")
    json.dumps(report, allow_nan=False)


def sections(report: Mapping[str, Any]) -> list[Section]:
    """The table of the tasks, where there are any; other tables are of whose stages fill them."""
    made = [_task_section(report["tasks"])] if report["tasks"] else []
    measurement = report.get("measurement", {})
    if devices := measurement.get("devices"):
        built = faults_told(measurement.get("builders", {}))
        columns = ("devices", "measured again", *(["built elsewhere"] if built else ()))
        cells = (trials_told(devices), faults_told(devices) or "-", *([built] if built else ()))
        made.append(Section("measured on", columns, (cells,)))
    if spared := measurement.get("counts", {}).get("spared"):
        why = "slower than the best found, even at the peak of what they compute with"
        made.append(Section("no trials for", ("alternatives", ""), ((str(spared), why),)))
    if packs := report.get("setup", {}).get("packs"):
        made.append(_pack_section(packs))
    if frozen := report.get("setup", {}).get("frozen"):
        told = "nothing was measured but what the whole network takes"
        made.append(Section("frozen", ("records", ""), ((frozen, told),)))
    return made


def _pack_section(packs: Sequence[Mapping[str, Any]]) -> Section:
    columns = ("pack", "from", "records of this device", "devices like it")
    rows = tuple(
        (pack["name"], pack["source"], str(pack["records"]), str(pack["similar_devices"]))
        for pack in packs
    )
    return Section("packs", columns, rows)


def _task_section(tasks: Sequence[Mapping[str, Any]]) -> Section:
    columns = (
        "task",
        "operator",
        "weight",
        "strategy",
        "trials",
        "failed",
        "best ms",
        "GFLOP/s",
        "peak",
    )
    rows = tuple(
        (
            task["name"],
            task["operator"],
            f"{task['weight']:g}",
            task["strategy"] or "-",
            str(task["trials"]),
            str(task["failures"]),
            "-" if task["best_seconds"] is None else milliseconds_text(task["best_seconds"]),
            _number(task["gflops"], 1, ".1f"),
            _number(task["peak_share"], 100, ".0f", " %"),
        )
        for task in tasks
    )
    return Section("tasks", columns, rows)


def _number(value: float | None, scale: float, form: str, unit: str = "") -> str:
    return "-" if value is None else f"{value * scale:{form}}{unit}"


def _merge(into: dict[str, Any], report: Mapping[str, Any]) -> None:
    measured_before = into.get("measurement", {}).get("seconds", 0.0)
    for name, value in report.items():
        known = into.get(name)
        if name == "measurement" and known is not None:
            into[name] = summed(known, value)
        elif name == "tuning_curve":
            later = [[measured_before + seconds, total] for seconds, total in value]
            into[name] = [*(known or ()), *later]
        elif isinstance(value, Mapping) and isinstance(known, dict):
            _merge(known, value)
        else:
            into[name] = dict(value) if isinstance(value, Mapping) else value
