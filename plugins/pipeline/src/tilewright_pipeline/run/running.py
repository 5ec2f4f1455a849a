"""Runs planned stages one after the other and writes run.json however they end."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tilewright.errors import UsageError
from tilewright.notebook import notebook_html
from tilewright.terminal_text import brief
from tilewright.vocabulary.task_set import TaskSet
from tilewright_pipeline.context import exit_codes
from tilewright_pipeline.context.events import RunInfo, RunOutcome, StageOutcome, StageStatus
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.measuring.interrupt import Interrupt, is_ctrl_c
from tilewright_pipeline.run.run_folder import claim, holds_anything, kept_folder, models_of
from tilewright_pipeline.run.run_report import RunReport, check_report
from tilewright_pipeline.stages.planned_stage import PlannedStage, told_options
from tilewright_pipeline.stages.stage import StageResult
from tilewright_pipeline.stages.values import RunValues, branch_context, is_joint


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended: exit code, content of run.json, and what the stages made, by type.

    branches   where there are several networks, how the run of each ended, without its values
    """

    exit_code: int
    report: Mapping[str, Any]
    folder: Path
    values: Mapping[type, Any]
    branches: Mapping[str, RunResult] = field(default_factory=dict)

    def _repr_html_(self) -> str | None:
        return notebook_html(self)

    def __repr__(self) -> str:
        stages = (f"{stage['name']} {stage['status']}" for stage in self.report.get("stages", ()))
        told = brief(", ".join(stages), 200)
        return f"<RunResult exit code {self.exit_code}, in {brief(str(self.folder))}: {told}>"


class PipelineRun:
    """One run: values found by type, the growing report, the hooks that are notified."""

    def __init__(
        self,
        stages: Sequence[PlannedStage],
        context: RunContext,
        values: RunValues | None = None,
    ) -> None:
        self._stages = stages
        self._left: Sequence[PlannedStage] = ()
        self._context = context
        self._values = values or RunValues()
        self._report = RunReport(context)
        self._begun = False
        self._partial = False
        names = tuple(stage.name for stage in stages)
        self._info = RunInfo(context.name, context.folder, context.target, context.device, names)

    def run(self) -> RunResult:
        """A stage's UsageError passes through, with the stage's place where it names none."""
        start = time.monotonic()
        notify = self._context.host.notify
        notify("tilewright_run_started", run=self._info)
        exit_code = exit_codes.USAGE
        try:
            with kept_folder(self._context.folder):
                exit_code = self._run_to_its_report()
        finally:
            outcome = RunOutcome(exit_code, time.monotonic() - start, self._report.content())
            notify("tilewright_run_finished", run=self._info, outcome=outcome)
        folder, values = self._context.folder, self._values.by_type()
        return RunResult(exit_code, outcome.report, folder, values)

    def branches(self) -> Iterator[PipelineRun]:
        """After `run`: each branch's run of the remaining stages; its values are then released.

        None where a stage failed or was interrupted.
        """
        while self._left and self._values.branches:
            name = next(iter(self._values.branches))
            values = self._values.branches.pop(name)
            yield PipelineRun(self._left, branch_context(self._context, name), values)
        if self._left:
            self._report.write()  # now nothing of it is to come

    @property
    def context(self) -> RunContext:
        """What its stages share."""
        return self._context

    def _run_to_its_report(self) -> int:
        try:
            with Interrupt():
                exit_code = self._run_stages()
        except BaseException:
            # A mistake in the input leaves nothing behind, and an earlier run's report as it was.
            if self._begun and holds_anything(self._context.folder):
                with suppress(UsageError):  # what ended the run is told, not what it led to
                    self._report.write()
            raise
        self._report.write([stage.name for stage in self._left])
        return exit_code

    def _run_stages(self) -> int:
        names = [stage.name for stage in self._stages]
        for position, stage in enumerate(self._stages):
            if self._values.branches and not any(map(is_joint, self._stages[position:])):
                self._left = self._stages[position:]
                break
            status = self._run_stage(stage, names[position + 1 :])
            if status != "ok":
                self._skip(position + 1)
                return exit_codes.INTERRUPTED if status == "interrupted" else exit_codes.FAILED
        return exit_codes.PARTIAL if self._partial else exit_codes.DONE

    def _run_stage(self, stage: PlannedStage, to_come: Sequence[str]) -> StageStatus:
        start = time.monotonic()
        status: StageStatus = "failed"
        result = StageResult()
        try:
            with ExitStack() as folders:
                for name in () if is_joint(stage) else self._values.branches:
                    folder = branch_context(self._context, name).folder
                    folders.enter_context(kept_folder(folder))
                result = self._values.run(stage, self._context)
            check_report(result.report)
            if models := models_of(result):
                self._report.note_models(claim(self._context, models))
            status = "ok" if result.ok else "failed"
            self._partial |= result.partial
        except UsageError as error:
            self._finish(stage, "failed", start, getattr(error, "result", result))
            raise error.placed(stage.place) from None
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            if not is_ctrl_c(error):
                owner = self._context.host.owner("stage", stage.name)
                error.add_note(f"in the stage '{stage.name}' of {owner}")
                self._begun = True
                self._finish(stage, "failed", start, StageResult())
                raise
            status = "interrupted"
            result = getattr(error, "result", result)
        self._begun = True
        self._report.note_tasks(self._values.find(TaskSet))
        self._finish(stage, status, start, result)
        if holds_anything(self._context.folder):  # says whose it is, however the run ends
            self._report.write(to_come)
        return status

    def _skip(self, first: int) -> None:
        for stage in self._stages[first:]:
            self._finish(stage, "skipped", time.monotonic(), StageResult())

    def _finish(
        self, stage: PlannedStage, status: StageStatus, start: float, result: StageResult
    ) -> None:
        outcome = StageOutcome(stage.name, status, time.monotonic() - start, result.report)
        self._report.add(outcome, told_options(stage.options))
        self._context.host.notify("tilewright_stage_finished", run=self._info, outcome=outcome)
