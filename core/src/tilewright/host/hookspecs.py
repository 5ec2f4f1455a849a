"""The hooks of core. Plural noun: collect. Verb: decide, first answer. Past participle: notify.

Every parameter is required and a hook has at most three. Hooks return values and change nothing.
Beside each stands who implements it first; of leaf plugins, the kind. Library plugins add modules
like this one through `tilewright_hookspecs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from tilewright.plugins.plugin import Component, hookspec

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.roles import (
        Builder,
        Reference,
        Runner,
        TargetBackend,
        TaskScheduler,
        Tuner,
    )
    from tilewright.space.config_space import ConfigSpace
    from tilewright.strategies.strategy import Strategy
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.target import Target
    from tilewright.vocabulary.task import Task

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
    """References of operators, one each; called late. First: tensor."""
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
    """A feasible point of the space to use without measurements; None leaves it to others.

    First: core, which asks the strategies and is asked last.
    """
    raise NotImplementedError
