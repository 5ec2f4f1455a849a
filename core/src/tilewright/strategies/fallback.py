"""The config of a task that was never measured."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from tilewright.errors import UsageError
from tilewright.strategies.strategy import strategy_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from tilewright.plugins.host import PluginHost
    from tilewright.space.alternative import Alternative
    from tilewright.space.config_space import ConfigSpace
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.task import Task


def fallback_configs(task: Task, space: ConfigSpace, host: PluginHost) -> Iterator[ConfigEntity]:
    """Each strategy's advice, the best strategy's first, then the first feasible point.

    The strategy of the highest priority is the best, ties by name; one may have no advice that
    suits the space.
    """
    names = {strategy_of(alternative.name) for alternative in space.alternatives}
    for strategy in sorted(map(host.strategy, names), key=lambda s: (-s.priority, s.name)):
        config = host.implementation(strategy.name).fallback(task)
        if config is not None and space.is_valid(config):
            yield config
    first = space.first()
    if first is not None:
        yield first


def fallback_besides(
    failed: Container[ConfigEntity], task: Task, space: ConfigSpace, host: PluginHost
) -> ConfigEntity:
    """The host's fallback if it is not in `failed`; else the first advice that is not.

    Where all of it failed, the host's. Raises UsageError where no point is feasible.
    """
    first = host.fallback_config(task, space)
    advised = chain((first,), fallback_configs(task, space, host))
    return next((config for config in advised if config not in failed), first)


def infeasible(task: Task, space: ConfigSpace, host: PluginHost) -> UsageError:
    """The error that names the task and what its space asks for."""
    operator = task.workload.operator
    reference = host.references().get(operator)
    name = reference.format(task.workload) if reference is not None else f"{operator} {task.key}"
    reasons = (f"{a.name}: {'; '.join(_demands(a))}" for a in space.alternatives)
    return UsageError(
        f"no feasible config for {name} on {task.target}",
        remedy=f"relax what its strategies ask for, or add one; {', '.join(reasons)}",
    )


def _demands(alternative: Alternative) -> Iterator[str]:
    for knob in alternative.knobs:
        if not len(knob):
            yield f"the knob '{knob.name}' has no values"
    yield from map(str, alternative.constraints)
