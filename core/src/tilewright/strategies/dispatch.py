"""Which config for this task, and for this node of a network? A stack of contexts answers.

>>> with FallbackContext(host), ApplyHistoryBest(history):
...     answer = current().query(task)

Who compiles or runs a pipeline in an entered context has it asked first, for every kernel:

>>> with ApplyFixedConfig(host, "mine.*"):
...     compiled = tilewright.compile(network)
"""

from __future__ import annotations

import reprlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from tilewright.errors import UsageError
from tilewright.strategies.fallback import fallback_besides
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.task import Task

if TYPE_CHECKING:
    from tilewright.plugins.host import PluginHost
    from tilewright.space.config_space import ConfigSpace
    from tilewright.strategies.history import History
    from tilewright.vocabulary.record import GraphRecord


@dataclass(frozen=True, slots=True)
class Answer:
    """A config and where it came from.

    seconds   its measured median, None where it was not measured for this very task
    source    one line for people: a file, `fallback`, `fixed`
    """

    config: ConfigEntity
    seconds: float | None
    source: str


class DispatchContext(ABC):
    """Answers queries while it is entered; what it cannot answer goes to the context around it.

    The stack is a context variable: every thread and every asyncio task has its own, and one
    context may be entered in several at once.
    """

    @abstractmethod
    def find(self, task: Task, node: str | None) -> Answer | None:
        """Its own answer, None to ask the next outer one."""

    def query(self, task: Task, node: str | None = None) -> Answer | None:
        """The answer of this context or of the nearest one around it that has one.

        `node` names a node of a network (see `GraphRecord`); only ApplyGraphBest looks at it.
        """
        entered = _stack.get()
        outer = entered[: _last(entered, self)] if self in entered else ()
        answers = (context.find(task, node) for context in (self, *reversed(outer)))
        return next((answer for answer in answers if answer is not None), None)

    def __enter__(self) -> Self:
        _stack.set((*_stack.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        entered = _stack.get()
        assert entered[-1] is self, "dispatch contexts are left in the opposite order"
        _stack.set(entered[:-1])


_stack: ContextVar[tuple[DispatchContext, ...]] = ContextVar("tilewright_dispatch", default=())


def current() -> DispatchContext:
    """The innermost context entered; outside of all, one without answers."""
    entered = _stack.get()
    return entered[-1] if entered else _Nothing()


def entered() -> tuple[DispatchContext, ...]:
    """The contexts entered in this thread, the innermost first."""
    return _stack.get()[::-1]


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


class _Nothing(DispatchContext):
    def find(self, task: Task, node: str | None) -> None:
        return None


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

        source = str(history.store.path)
        own = history.best(task, usable)
        if own is not None:
            return Answer(own.config, own.seconds, source)
        failed = history.failed(task, usable)
        kin = history.kin(task, lambda config: usable(config) and config not in failed)
        if kin is None:
            return None
        return Answer(kin.config, None, f"{source}, tuned with another epilogue")


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
        return Answer(choice.config, None, self.source)


@dataclass(frozen=True, eq=False)
class FallbackContext(DispatchContext):
    """The root: a config without any measurement, as plugins advise, else the space's first.

    `failed` gives a task's failed configs; they are passed over while there is other advice.
    """

    host: PluginHost
    strategies: str = "*"
    failed: Callable[[Task], Container[ConfigEntity]] = lambda _: ()

    def find(self, task: Task, node: str | None) -> Answer | None:
        space = _space(self.host, task, self.strategies)
        if space is None or space.first() is None:
            return None
        config = fallback_besides(self.failed(task), task, space, self.host)
        return Answer(config, None, "fallback")


def _space(host: PluginHost, task: Task, strategies: str) -> ConfigSpace | None:
    """The part of a task's space that a glob matches; None where there is none."""
    if strategies == "*":
        return host.space(task)
    found = host.space_within(task, strategies)
    if found is None:
        host.check_strategies(strategies, task.target, "dispatch context")
    return found


def _last(entered: tuple[DispatchContext, ...], context: DispatchContext) -> int:
    return max(place for place, other in enumerate(entered) if other is context)
