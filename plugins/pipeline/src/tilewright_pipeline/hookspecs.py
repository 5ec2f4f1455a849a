"""Hooks that tilewright-pipeline adds: stages, tables of the summary, and what a run tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilewright.plugins.plugin import Component, hookspec

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.space.config_space import ConfigSpace
    from tilewright.vocabulary.measure import Trial
    from tilewright.vocabulary.task import Task
    from tilewright_pipeline.context.events import (
        RunInfo,
        RunOutcome,
        RunSummary,
        Section,
        StageOutcome,
        TuneOutcome,
        TuneProgress,
    )
    from tilewright_pipeline.context.explaining import Explains
    from tilewright_pipeline.context.run_context import RunContext
    from tilewright_pipeline.dispatch.unmeasured import Advice, UnmeasuredTask
    from tilewright_pipeline.stages.stage import Stage


@hookspec
def tilewright_stages() -> Sequence[Component[Stage]]:
    """Steps of a pipeline; (options, RunContext). First: pipeline (`tune`)."""
    raise NotImplementedError


@hookspec
def tilewright_summary_sections(summary: RunSummary) -> Sequence[Section]:
    """Tables shown when a run has ended. First: pipeline."""
    raise NotImplementedError


@hookspec(firstresult=True)
def tilewright_explain(
    value: object, context: RunContext, options: Sequence[Any]
) -> Explains | None:
    """What says why the parts of a stage's value have their configs, else None. First: graph.

    `options` are those of the pipeline's stages, in order: what they choose is explained.
    """


@hookspec(firstresult=True)
def tilewright_advise(asked: UnmeasuredTask, host: PluginHost) -> Advice | None:
    """What is known of a task without records: a config to take, and what leads tuners.

    None where nothing is known of such tasks, or of the device. Asked once for each task of a
    network, and once for each that is tuned. First: models.
    """


@hookspec
def tilewright_run_started(run: RunInfo) -> None:
    """A pipeline begins. First: the progress display of cli, as for all that follow."""


@hookspec
def tilewright_stage_finished(run: RunInfo, outcome: StageOutcome) -> None:
    """A stage has ended, however it did."""


@hookspec
def tilewright_task_started(task: Task, space: ConfigSpace) -> None:
    """A task gets its first batch in this run."""


@hookspec
def tilewright_batch_scheduled(progress: TuneProgress) -> None:
    """A batch is about to be measured; called once more when the stage ends."""


@hookspec
def tilewright_batch_measured(task: Task, trials: Sequence[Trial]) -> None:
    """Trials were measured and are in the store; at most one call a batch."""


@hookspec
def tilewright_task_finished(task: Task, outcome: TuneOutcome) -> None:
    """A task gets no further batch in this run."""


@hookspec
def tilewright_run_finished(run: RunInfo, outcome: RunOutcome) -> None:
    """A pipeline has ended, however it did."""
