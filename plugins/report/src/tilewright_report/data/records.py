"""What a run's records say of its tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.paths import check_is_file
from tilewright.roles import Ranked
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import Conditions
from tilewright.vocabulary.record import Record
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright_pipeline.context.run_setup import open_store
from tilewright_pipeline.dispatch.history import History
from tilewright_report.data.fields import Fields
from tilewright_report.data.thinning import thinned

_RECORDS = "records.jsonl"


@dataclass(frozen=True, slots=True)
class Point:
    """One trial of a task.

    sequence  its place among all trials of the file
    seconds   None for a failure, and then its kind in `failure`
    """

    sequence: int
    seconds: float | None
    strategy: str
    failure: str


@dataclass(frozen=True, eq=False)
class TunedTask:
    """A task of a run with all its trials on the run's device, oldest first.

    weight  how often it occurs, as the run counted
    """

    task: Task
    name: str
    weight: float
    points: Sequence[Point]
    history: History

    @property
    def key(self) -> str:
        return self.task.workload.key

    @cached_property
    def text(self) -> str:
        """In words, as `tilewright tune` takes it; its key where its operator is not installed."""
        with suppress(UsageError):
            return self.history.host.reference(self.task.workload.operator).format(
                self.task.workload
            )
        return self.key

    @cached_property
    def ranked(self) -> list[Ranked]:
        """Its configs that have a time and count, fastest first."""
        return list(self.history.ranked(self.task))

    @property
    def best_seconds(self) -> float | None:
        return self.ranked[0].seconds if self.ranked else None

    @property
    def total(self) -> float:
        """Seconds of the network that are its."""
        return self.weight * (self.best_seconds or 0.0)

    def sample(self, most: int) -> list[Record]:
        """At most so many of its records that have a time, evenly chosen, oldest first."""
        timed = [record for record in _counting(self.task, self.history) if record.seconds]
        return thinned(timed, most)

    def fastest_by_strategy(self) -> dict[str, Ranked]:
        """The best of each alternative, fastest first."""
        found: dict[str, Ranked] = {}
        for ranked in self.ranked:
            found.setdefault(ranked.record.config.strategy, ranked)
        return found


@dataclass(frozen=True, eq=False)
class TunedTasks:
    """The tasks of a run that have records, those that take longest first.

    known  every task that the records have, by its workload's key: layout transforms, too
    """

    history: History
    tasks: tuple[TunedTask, ...]
    known: Mapping[str, Task]

    @cached_property
    def trials(self) -> int:
        return sum(len(each.points) for each in self.tasks)

    def totals(self) -> list[tuple[float, float]]:
        """(trials of all tasks so far, sum of weight x best seconds) from when all have a time."""
        ordered = sorted(
            (
                (point.sequence, place, point.seconds)
                for place, each in enumerate(self.tasks)
                for point in each.points
            ),
            key=lambda one: one[0],
        )
        best: list[float | None] = [None] * len(self.tasks)
        lacking, total, curve = len(best), 0.0, []
        for number, (_, place, seconds) in enumerate(ordered, 1):
            known = best[place]
            if seconds is not None and (known is None or seconds < known):
                lacking -= known is None
                total += self.tasks[place].weight * (seconds - (known or 0.0))
                best[place] = seconds
            if not lacking:
                curve.append((float(number), total))
        return curve

    def task_of(self, key: str) -> TunedTask | None:
        """The task of a workload's key, be it one of those that were tuned or not."""
        own = next((each for each in self.tasks if each.key == key), None)
        if own is not None or key not in self.known:
            return own
        return tuned_task(self.known[key], key, 1.0, self.history)


def tuned_tasks(
    report: Fields, folder: Path | None, host: PluginHost, records: Path | None
) -> TunedTasks:
    """What the records of a run say. Raises UsageError where they cannot be found or read."""
    path = _file_of(report, folder, records)
    setup = report.fields("setup")
    with suppress(UsageError):
        host = host.at_precision(setup.text("precision") or "float32")
    history = History(
        open_store(path, host),
        host,
        _device(report),
        _conditions(setup.fields("conditions")),
        setup.text("strategies") or "*",
    )
    target = Target.parse(report.text("target"))
    workloads = (task.workload for task in history.store.tasks())
    known = {workload.key: Task(workload, target) for workload in workloads}
    found = []
    for entry in report.objects("tasks"):
        task = known.get(entry.text("key"))
        if task is not None:
            name, weight = entry.text("name"), entry.number("weight") or 0.0
            found.append(tuned_task(task, name, weight, history))
    return TunedTasks(history, tuple(sorted(found, key=lambda each: -each.total)), known)


def tuned_task(task: Task, name: str, weight: float, history: History) -> TunedTask:
    """One task with its trials."""
    return TunedTask(task, name, weight, tuple(_points(task, history)), history)


def _points(task: Task, history: History) -> Iterator[Point]:
    for record in _counting(task, history):
        result = record.trial.result
        failure = "" if result.failure is None else str(result.failure.kind)
        yield Point(record.sequence, result.seconds, record.config.strategy, failure)


def _counting(task: Task, history: History) -> Iterator[Record]:
    """Its records on the run's device, under its conditions, oldest first."""
    for record in history.records(task):
        here = record.fingerprint == history.device.fingerprint
        if here and history.counts(record.trial.input):
            yield record


def _file_of(report: Fields, folder: Path | None, records: Path | None) -> Path:
    told = report.fields("setup").text("records")
    if records is not None:
        path = records
    elif folder is None:
        path = Path(told or _RECORDS)
    else:
        path = folder / (told or _RECORDS)
    return check_is_file(path, "records file", hint="name it: --records FILE")


def _device(report: Fields) -> Device:
    """The run's, as far as records know it: its name and attributes."""
    told = report.fields("device")
    attributes = told.raw("attributes")
    return Device(told.text("name"), attributes if isinstance(attributes, dict) else {})


def _conditions(told: Fields) -> Conditions:
    return Conditions("warm" if told.text("constants") == "warm" else "cold")


def config_of(value: object) -> ConfigEntity | None:
    """The config that run.json holds, None where it is none."""
    fields = Fields(value)
    values = fields.raw("values")
    if not fields.text("strategy") or not isinstance(values, dict):
        return None
    return ConfigEntity(fields.text("strategy"), values)
