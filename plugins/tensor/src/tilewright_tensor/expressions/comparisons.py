"""What `<`, `==` and `if` mean for values, axes and indexes.

While an operator is defined, nothing has a value yet. So a comparison builds a value of dtype bool,
to be given to `select`. Code that needs its truth at once is refused, and so is a loop over it
or a conversion to a number.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields
from operator import attrgetter
from typing import Any, NoReturn, TypeVar

_DEFINING: ContextVar[bool] = ContextVar("tilewright_defining", default=False)
_LONGEST_TEXT = 60
_INSTEAD = (
    "`if`, `and`, `or`, `not`, `in`, min and max cannot ask for it: write "
    "select(condition, then, otherwise), `&`, `|`, `~`, minimum and maximum"
)


@contextmanager
def comparing_objects() -> Iterator[None]:
    """Inside, `==` compares objects even while an operator is defined."""
    token = _DEFINING.set(False)
    try:
        yield
    finally:
        _DEFINING.reset(token)


@contextmanager
def defining() -> Iterator[None]:
    """Inside, `==` and `!=` of two expressions build a comparison, and `if` refuses all of them.

    Outside, they compare objects, but for those with a number; and `if` refuses comparisons only.
    """
    token = _DEFINING.set(True)
    try:
        yield
    finally:
        _DEFINING.reset(token)


def builds_comparison(other: object) -> bool:
    """Whether `==` with the other builds a comparison."""
    return _DEFINING.get() or isinstance(other, int | float)


def compared(name: str, left: Any, right: Any) -> Any:
    """The comparison `lt`, `le`, `gt`, `ge`, `eq` or `ne` of two operands as a value."""
    from tilewright_tensor.expressions import expr

    return getattr(expr, name)(left, right)


class Comparable:
    """Lets values and indexes be compared, and refuses to be true or false, a number, a list."""

    __slots__ = ()
    __array_ufunc__ = None  # numpy leaves arithmetic with its scalars to us

    def __lt__(self, other: Any) -> Any:
        return compared("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return compared("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return compared("gt", self, other)

    def __ge__(self, other: Any) -> Any:
        return compared("ge", self, other)

    def __ne__(self, other: object) -> Any:
        same = self.__eq__(other)
        if isinstance(same, bool) or same is NotImplemented:
            return same if same is NotImplemented else not same
        return compared("ne", self, other)

    def __bool__(self) -> bool:
        if not _DEFINING.get() and getattr(self, "dtype", "") != "bool":
            return True  # there is one, as Python has it: only a comparison is never asked for
        raise TypeError(f"{_shown(self)} is not known while the operator is defined; {_INSTEAD}")

    def __float__(self) -> float:
        raise TypeError(f"{_shown(self)} is no number yet: functions of it are those of expr")

    def __int__(self) -> int:
        raise TypeError(f"{_shown(self)} is no number yet: write cast(x, 'int32')")

    __iter__ = None
    """Not iterable."""


class NoValue:
    """Refuses what only values can do; `instead` says what to write."""

    __slots__ = ()
    __array_ufunc__ = None

    def instead(self) -> str:
        """One line: what it is, and what stands in arithmetic in its place."""
        raise NotImplementedError

    def __bool__(self) -> bool:
        if _DEFINING.get():
            self._refuse()
        return True

    def _refuse(self, *_others: Any) -> NoReturn:
        raise TypeError(self.instead())

    def __eq__(self, other: object) -> bool:
        if builds_comparison(other):
            self._refuse()
        return self is other

    __hash__ = object.__hash__
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _refuse
    __pow__ = __rpow__ = __and__ = __rand__ = __or__ = __ror__ = __matmul__ = _refuse
    __neg__ = __abs__ = __invert__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __float__ = __int__ = __round__ = __iter__ = __len__ = __contains__ = _refuse


_Class = TypeVar("_Class")


def comparable(cls: type[_Class]) -> type[_Class]:
    """The dataclass with an `==` that builds a comparison where `builds_comparison` says so.

    While an operator is defined, it is looked for in no set or dict, for it would not be found.
    """
    content: Any = attrgetter(*(one.name for one in fields(cls)))  # type: ignore[arg-type]

    def in_set(self: Any) -> int:
        if _DEFINING.get():
            raise TypeError(
                f"{_shown(self)} is not known while the operator is defined; {_INSTEAD}"
            )
        return hash(content(self))

    def equal(self: Any, other: object) -> Any:
        if builds_comparison(other):
            return compared("eq", self, other)
        return content(self) == content(other) if type(self) is type(other) else NotImplemented

    cls.__eq__, cls.__hash__ = equal, in_set  # type: ignore[method-assign]
    return cls


def _shown(value: Any) -> str:
    from tilewright_tensor.expressions.expr import as_value
    from tilewright_tensor.expressions.value_text import value_text

    text = value_text(as_value(value))
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."
