"""The config of a task that was never measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.strategies.strategy import strategy_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tilewright.host.plugin_host import PluginHost
    from tilewright.space.config_space import ConfigSpace
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.task import Task


def fallback_configs(task: Task, space: ConfigSpace, host: PluginHost) -> Iterator[ConfigEntity]:
    """Each strategy's advice, the best strategy's first, then the first feasible point.

    The strategy of the highest priority is the best, ties by name; one may have no advice that
    suits the space.
    """
    yield from advised_configs(task, space, host)
    first = space.first()
    if first is not None:
        yield first


def advised_configs(task: Task, space: ConfigSpace, host: PluginHost) -> Iterator[ConfigEntity]:
    """Each strategy's advice that suits the space, as `fallback_configs`, without the first point.

    Raises what a strategy raises, with its name.
    """
    names = {strategy_of(alternative.name) for alternative in space.alternatives}
    for strategy in sorted(map(host.strategy, names), key=lambda s: (-s.priority, s.name)):
        implementation = host.implementation(strategy.name)
        with host.blaming("strategy", strategy.name):
            config = implementation.fallback(task)
        if config is not None and space.is_valid(config):
            yield config
