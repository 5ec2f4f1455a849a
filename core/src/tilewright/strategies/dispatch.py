"""Which config for this task, and for this node of a network? A stack of contexts answers.

>>> with Mine():
...     answer = current().query(task)

tilewright-pipeline has contexts of records, graph choices and fallbacks; it asks an entered one
first, for every kernel that is compiled or run inside.
"""

from __future__ import annotations

import reprlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from tilewright.errors import UsageError
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.task import Task

if TYPE_CHECKING:
    from tilewright.space.config_space import ConfigSpace


@dataclass(frozen=True, slots=True)
class Answer:
    """A config and where it came from.

    seconds   its measured median, None where it was not measured for this very task
    source    one line for people: a file, `fallback`, `fixed`
    pack      the name of the record pack whose record it is; empty for any other answer
    """

    config: ConfigEntity
    seconds: float | None
    source: str
    pack: str = ""


@dataclass(frozen=True, slots=True)
class Advised(Answer):
    """A config that nobody measured, which a plugin takes to be faster than the fallback.

    Its source says what the advice rests on, and how sure it is.
    """


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


def _last(entered: tuple[DispatchContext, ...], context: DispatchContext) -> int:
    return max(place for place, other in enumerate(entered) if other is context)
