"""Writes what a run tells into a file, for other programs; a plugin like any other."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.errors import UsageError
from tilewright.plugins.plugin import hookimpl
from tilewright_cli.progress.machine_watch import MachineWatch
from tilewright_cli.progress.run_view import RunView
from tilewright_pipeline.writing import writing_file

if TYPE_CHECKING:
    from typing import TextIO

    from tilewright.space.config_space import ConfigSpace
    from tilewright.vocabulary.measure import Trial
    from tilewright.vocabulary.task import Task
    from tilewright_pipeline.context.events import (
        RunInfo,
        RunOutcome,
        StageOutcome,
        TuneOutcome,
        TuneProgress,
    )

_log = logging.getLogger("tilewright")


class EventFile:
    """A JSON object a line, written as soon as it happens; docs/commands.md has every event.

    The file may be a pipe. Where it can no longer be written, that is said once, and the run goes
    on. Raises UsageError for a file that cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        if str(path) == "-":
            raise UsageError("stdout has the results", where="--events -", remedy="name a file")
        with writing_file(path, "--events"):
            self._file: TextIO | None = path.open("w", encoding="utf-8")
        self._machine = MachineWatch()
        self._names: dict[str, str] = {}

    def close(self) -> None:
        """End the file; what happens later is not written."""
        if self._file is not None:
            with suppress(OSError):  # what could not be written is still in its buffer
                self._file.close()
            self._file = None

    # --- hooks -----------------------------------------------------------------------------------

    @hookimpl
    def tilewright_run_started(self, run: RunInfo) -> None:
        self._write(
            "run_started",
            name=run.name,
            folder=str(run.folder),
            target=str(run.target),
            device=run.device.name,
            stages=run.stages,
        )

    @hookimpl
    def tilewright_stage_finished(self, outcome: StageOutcome) -> None:
        self._write(
            "stage_finished",
            stage=outcome.name,
            status=outcome.status,
            seconds=outcome.seconds,
        )

    @hookimpl
    def tilewright_batch_scheduled(self, progress: TuneProgress) -> None:
        for entry in progress.entries:
            self._names[entry.task.key] = entry.name
        state, left, number = self._machine.state(), progress.left, progress.next_task
        self._write(
            "batch_scheduled",
            task=None if number is None else progress.entries[number].task.workload.key,
            trials=progress.trials,
            seconds=progress.seconds,
            total_seconds=progress.total_seconds,
            left_seconds=left and left.seconds,
            left_trials=left and left.trials,
            machine=state and state.to_json(),
        )

    @hookimpl
    def tilewright_task_started(self, task: Task, space: ConfigSpace) -> None:
        name = self._names.get(task.key, "")
        self._write("task_started", task=task.workload.key, name=name, points=space.size)

    @hookimpl
    def tilewright_batch_measured(self, task: Task, trials: Sequence[Trial]) -> None:
        batch = RunView().took(trials)
        times = [trial.result.seconds for trial in trials if trial.result.seconds is not None]
        self._write(
            "batch_measured",
            task=task.workload.key,
            trials=batch.measured,
            failures=batch.failures,
            disturbed=batch.disturbed,
            best_seconds=min(times, default=None),
            devices=sorted(batch.devices),
        )

    @hookimpl
    def tilewright_task_finished(self, task: Task, outcome: TuneOutcome) -> None:
        self._write(
            "task_finished",
            task=task.workload.key,
            name=outcome.name,
            trials=outcome.trials,
            failures=outcome.failures,
            best_seconds=outcome.best_seconds,
            strategy=outcome.best_config and outcome.best_config.strategy,
            reason=outcome.reason,
        )

    @hookimpl
    def tilewright_run_finished(self, run: RunInfo, outcome: RunOutcome) -> None:
        self._write(
            "run_finished",
            name=run.name,
            exit_code=outcome.exit_code,
            seconds=outcome.seconds,
        )

    # --- inside ----------------------------------------------------------------------------------

    def _write(self, event: str, /, **members: Any) -> None:
        if self._file is None:
            return
        line = json.dumps({"event": event, "time": time.time(), **members}, allow_nan=False)
        try:
            self._file.write(f"{line}\n")
            self._file.flush()
        except OSError as error:
            _log.warning("--events %s: %s: it gets no more", self._path, error.strerror)
            self.close()
