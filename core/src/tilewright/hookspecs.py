"""The hooks of core. Plural noun: collect. Verb: decide, first answer. Past participle: notify.

Every parameter is required and a hook has at most three. Hooks return values and change nothing.
Beside each stands who implements it first; of leaf plugins, the kind. Library plugins add modules
like this one through `tilewright_hookspecs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from tilewright.plugin import Component, hookspec

if TYPE_CHECKING:
    from tilewright.config import ConfigEntity
    from tilewright.events import (
        RunInfo,
        RunOutcome,
        RunSummary,
        Section,
        StageOutcome,
        TuneOutcome,
        TuneProgress,
    )
    from tilewright.host import PluginHost
    from tilewright.measure import Trial
    from tilewright.roles import (
        Builder,
        Oracle,
        RecordReader,
        RecordStore,
        Reference,
        Runner,
        TargetBackend,
        TaskScheduler,
        Tuner,
    )
    from tilewright.space.config_space import ConfigSpace
    from tilewright.stage import Stage
    from tilewright.strategy import Strategy
    from tilewright.target import Target
    from tilewright.task import Task

# --- collect -------------------------------------------------------------------------------------


@hookspec
def tilewright_hookspecs() -> Sequence[ModuleType]:
    """Further hookspec modules; asked before any other hook. First: tensor."""
    raise NotImplementedError


@hookspec
def tilewright_targets() -> Sequence[Component[TargetBackend]]:
    """Kinds of target; the factory is called with (options, host). First: a target plugin."""
    raise NotImplementedError


@hookspec
def tilewright_strategies() -> Sequence[Strategy]:
    """Ways to compute operators. First: a target plugin."""
    raise NotImplementedError


@hookspec
def tilewright_tuners() -> Sequence[Component[Tuner]]:
    """Tuners; (options, TunerContext). First: search."""
    raise NotImplementedError


@hookspec
def tilewright_builders() -> Sequence[Component[Builder]]:
    """Builders; (options, MeasureContext). First: measure."""
    raise NotImplementedError


@hookspec
def tilewright_runners() -> Sequence[Component[Runner]]:
    """Runners; (options, MeasureContext). First: measure."""
    raise NotImplementedError


@hookspec
def tilewright_task_schedulers() -> Sequence[Component[TaskScheduler]]:
    """Task schedulers; (options, host). First: search."""
    raise NotImplementedError


@hookspec
def tilewright_references(host: PluginHost) -> Sequence[Reference]:
    """What is known of operators apart from schedules, one for each; asked late. First: tensor."""
    raise NotImplementedError


@hookspec
def tilewright_oracles() -> Sequence[Component[Oracle]]:
    """Other systems that run a network's source; (options, host). First: a frontend's plugin."""
    raise NotImplementedError


@hookspec
def tilewright_record_stores() -> Sequence[Component[RecordStore]]:
    """Where records are kept; (options, path). First: core."""
    raise NotImplementedError


@hookspec
def tilewright_record_readers() -> Sequence[Component[RecordReader]]:
    """Readers of records files; (options, host). First: core, for its own format."""
    raise NotImplementedError


@hookspec
def tilewright_stages() -> Sequence[Component[Stage]]:
    """Steps of a pipeline; (options, RunContext). First: core (`tune`)."""
    raise NotImplementedError


@hookspec
def tilewright_summary_sections(summary: RunSummary) -> Sequence[Section]:
    """Tables shown when a run has ended. First: core."""
    raise NotImplementedError


# --- decide --------------------------------------------------------------------------------------


@hookspec(firstresult=True)
def tilewright_resolve_target(text: str) -> Target | None:
    """The target that a short text means (`native`); None where unknown. First: a target plugin."""
    raise NotImplementedError


@hookspec(firstresult=True)
def tilewright_fallback_config(
    task: Task, space: ConfigSpace, host: PluginHost
) -> ConfigEntity | None:
    """A feasible point of the space to use where nothing was measured; None without an opinion.

    First: core, which asks the strategies and is asked last.
    """
    raise NotImplementedError


# --- notify --------------------------------------------------------------------------------------


@hookspec
def tilewright_run_started(run: RunInfo) -> None:
    """A pipeline begins. First: core's progress display, as for all that follow."""


@hookspec
def tilewright_stage_finished(run: RunInfo, outcome: StageOutcome) -> None:
    """A stage has ended, however it did."""


@hookspec
def tilewright_task_started(task: Task, space: ConfigSpace) -> None:
    """A task gets its first batch in this run."""


@hookspec
def tilewright_batch_scheduled(progress: TuneProgress) -> None:
    """A batch is about to be measured; told once more when the stage ends."""


@hookspec
def tilewright_batch_measured(task: Task, trials: Sequence[Trial]) -> None:
    """Trials were measured and are in the store; at most one call a batch."""


@hookspec
def tilewright_task_finished(task: Task, outcome: TuneOutcome) -> None:
    """A task gets no further batch in this run."""


@hookspec
def tilewright_run_finished(run: RunInfo, outcome: RunOutcome) -> None:
    """A pipeline has ended, however it did."""
