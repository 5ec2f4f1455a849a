"""Which config for this task, and for this node of a network? A stack of contexts answers.

>>> with Mine():
...     answer = current().query(task)

tilewright-pipeline has contexts of records, graph choices and fallbacks; it asks an entered one
first, for every kernel that is compiled or run inside.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Self

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.task import Task


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

        `node` names a node of a network (see `GraphRecord`); most contexts do not look at it.
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


class _Nothing(DispatchContext):
    def find(self, task: Task, node: str | None) -> None:
        return None


def _last(entered: tuple[DispatchContext, ...], context: DispatchContext) -> int:
    return max(place for place, other in enumerate(entered) if other is context)
