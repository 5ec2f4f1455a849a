"""Dispatch contexts: of records, of graph choices, of one config, of fallbacks.

>>> with FallbackContext(host), ApplyHistoryBest(history):
...     answer = current().query(task)
>>> with ApplyFixedConfig(host, "mine.*"):
...     compiled = tilewright.compile(network)
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tilewright.errors import UsageError
from tilewright.strategies.dispatch import Answer, DispatchContext
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.task import Task
from tilewright_pipeline.dispatch.unmeasured import unmeasured

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.space.config_space import ConfigSpace
    from tilewright.vocabulary.device import Device
    from tilewright.vocabulary.record import GraphRecord, Record
    from tilewright_pipeline.dispatch.history import History


@dataclass(frozen=True, eq=False)
class ApplyConfig(DispatchContext):
    """One config for every query."""

    config: ConfigEntity

    def find(self, task: Task, node: str | None) -> Answer | None:
        return Answer(self.config, None, "fixed")


@dataclass(frozen=True, eq=False)
class ApplyFixedConfig(DispatchContext):
    """The first feasible config of the alternatives that match a glob: forces an implementation.

    Where none of a task's does, it has no answer. Raises UsageError for a glob that no strategy of
    the target matches.
    """

    host: PluginHost
    strategies: str

    def find(self, task: Task, node: str | None) -> Answer | None:
        space = _space(self.host, task, self.strategies)
        config = None if space is None else space.first()
        return None if config is None else Answer(config, None, f"first of {self.strategies}")


@dataclass(frozen=True, eq=False)
class ApplyHistoryBest(DispatchContext):
    """The best recorded config of the task, else of a task with the same anchor.

    Records count only where their config is a feasible point of the task's space, as the history's
    `strategies` narrow it; `where` refuses configs beyond that. An answer from another epilogue has
    no seconds.
    """

    history: History
    where: Callable[[ConfigEntity], bool] | None = None

    def find(self, task: Task, node: str | None) -> Answer | None:
        history = self.history
        space = _space(history.host, task, history.strategies)
        if space is None:
            return None

        def usable(config: ConfigEntity) -> bool:
            return space.is_valid(config) and (self.where is None or self.where(config))

        own = history.best(task, usable)
        if own is not None:
            return Answer(own.config, own.seconds, self._source(own), own.pack)
        failed = history.failed(task, usable)
        kin = history.kin(task, lambda config: usable(config) and config not in failed)
        if kin is None:
            return None
        source = f"{self._source(kin)}, tuned with another epilogue"
        return Answer(kin.config, None, source, kin.pack)

    def _source(self, record: Record) -> str:
        return f"the pack {record.pack}" if record.pack else str(self.history.store.path)


@dataclass(frozen=True, eq=False)
class ApplyGraphBest(DispatchContext):
    """What a graph tuner chose, by node; other nodes and changed tasks are asked outside.

    `choices` are by node, as `RecordStore.graph_choices` gives them; `where` refuses some.
    """

    choices: Mapping[str, GraphRecord]
    source: str = "graph choice"
    where: Callable[[Task, ConfigEntity], bool] | None = None

    def find(self, task: Task, node: str | None) -> Answer | None:
        choice = None if node is None else self.choices.get(node)
        if choice is None or choice.task != task:
            return None
        if self.where is not None and not self.where(task, choice.config):
            return None
        return Answer(choice.config, None, self.source, choice.pack)


@dataclass(frozen=True, eq=False)
class FallbackContext(DispatchContext):
    """The root: a config without any measurement, as plugins advise, else the space's first.

    `failed` gives a task's failed configs; they are passed over while there is other advice. What
    is advised for a device counts where one is given.
    """

    host: PluginHost
    strategies: str = "*"
    failed: Callable[[Task], Container[ConfigEntity]] = lambda _: ()
    device: Device | None = None

    def find(self, task: Task, node: str | None) -> Answer | None:
        space = _space(self.host, task, self.strategies)
        if space is None or space.first() is None:
            return None
        return unmeasured(task, space, self.host, self.device, self.failed(task))


def asked_first(
    contexts: Iterable[DispatchContext],
    task: Task,
    node: str | None,
    space: Callable[[], ConfigSpace],
    where: str,
    *,
    present: Callable[[ConfigEntity], ConfigEntity],
) -> Answer | None:
    """The first answer of these contexts; its source names the context.

    For code that asks the caller's contexts (`entered`) before it decides. Errors of a context
    are not caught. `present` gives a config under the present name of its strategy. Raises
    UsageError, which names the context and `where`, for an answer that is no feasible point of the
    space.
    """
    for context in contexts:
        answer = context.find(task, node)
        if answer is None:
            continue
        name = type(context).__name__
        if not isinstance(answer, Answer):
            got = f"expected an Answer or None, got {reprlib.repr(answer)}"
            raise UsageError(f"the dispatch context {name} answered: {got}", where=where)
        config = present(answer.config)
        if config not in space():
            raise UsageError(
                f"the dispatch context {name} answered {answer.config.text[:200]}, "
                "which is no feasible point of the space",
                where=where,
                remedy="let it answer None where it has no config for the task",
            )
        return replace(answer, config=config, source=f"{name}: {answer.source}")
    return None


def _space(host: PluginHost, task: Task, strategies: str) -> ConfigSpace | None:
    """The part of a task's space that a glob matches; None where there is none."""
    if strategies == "*":
        return host.space(task)
    found = host.space_within(task, strategies)
    if found is None:
        host.check_strategies(strategies, task.target, "dispatch context")
    return found
