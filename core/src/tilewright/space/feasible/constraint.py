"""Constraints over knobs: small expression values that serialise, never text that is evaluated.

>>> fits = (Knob("tile_ow")[-1] * Knob("vectors") <= 28) & (Knob("tile_oc").product() % 16 == 0)
>>> fits.to_json()[0]
'and'
>>> holds(fits, {"tile_ow": (4, 14), "vectors": 2, "tile_oc": (2, 32)})
True
"""

from __future__ import annotations

import math
import operator
import reprlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tilewright.errors import UsageError

MAX_NODES = 256
MAX_DEPTH = 32
MAX_TEXT = 256
MAX_NUMBER = 2**53

OPERATIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Expression:
    """A number, text or truth value computed from knob values.

    Written with Python's operators: `+ - * // %`, comparisons, and `& | ~` for and, or, not; its
    text is for people.
    """

    __slots__ = ()
    __hash__ = object.__hash__

    def __add__(self, other: Any) -> Expression:
        return Binary("+", self, as_expression(other))

    def __radd__(self, other: Any) -> Expression:
        return Binary("+", as_expression(other), self)

    def __sub__(self, other: Any) -> Expression:
        return Binary("-", self, as_expression(other))

    def __rsub__(self, other: Any) -> Expression:
        return Binary("-", as_expression(other), self)

    def __mul__(self, other: Any) -> Expression:
        return Binary("*", self, as_expression(other))

    def __rmul__(self, other: Any) -> Expression:
        return Binary("*", as_expression(other), self)

    def __floordiv__(self, other: Any) -> Expression:
        return Binary("//", self, as_expression(other))

    def __rfloordiv__(self, other: Any) -> Expression:
        return Binary("//", as_expression(other), self)

    def __mod__(self, other: Any) -> Expression:
        return Binary("%", self, as_expression(other))

    def __rmod__(self, other: Any) -> Expression:
        return Binary("%", as_expression(other), self)

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        return Binary("==", self, as_expression(other))

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return Binary("!=", self, as_expression(other))

    def __lt__(self, other: Any) -> Expression:
        return Binary("<", self, as_expression(other))

    def __le__(self, other: Any) -> Expression:
        return Binary("<=", self, as_expression(other))

    def __gt__(self, other: Any) -> Expression:
        return Binary(">", self, as_expression(other))

    def __ge__(self, other: Any) -> Expression:
        return Binary(">=", self, as_expression(other))

    def __and__(self, other: Any) -> Expression:
        return Binary("and", self, as_expression(other))

    def __or__(self, other: Any) -> Expression:
        return Binary("or", self, as_expression(other))

    def __invert__(self) -> Expression:
        return Not(self)

    def __bool__(self) -> bool:
        raise TypeError(
            "a constraint has no truth value before its knobs have values: write & | ~ instead of "
            "and, or, not, and (a <= b) & (b <= c) instead of a <= b <= c"
        )

    def parts(self) -> tuple[Expression, ...]:
        """The expressions this one is made of."""
        return ()

    def _walk(self) -> Iterator[Expression]:
        """Itself and everything inside, outermost first."""
        yield self
        for part in self.parts():
            yield from part._walk()

    def knobs(self) -> frozenset[str]:
        """Names of the knobs it reads."""
        return frozenset(node.name for node in self._walk() if isinstance(node, Knob))

    def renamed(self, names: Mapping[str, str]) -> Expression:
        """The same expression with knobs renamed by `names`."""
        return self

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """Its value for these knob values. Raises ZeroDivisionError where it divides by zero."""
        raise NotImplementedError

    def to_json(self) -> Any:
        """Lists `[operation, part, ...]`; a constant is itself."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, slots=True)
class Constant(Expression):
    """A number, text, truth value or None."""

    value: Any

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        return self.value

    def to_json(self) -> Any:
        return self.value

    def __str__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True, eq=False, slots=True)
class Knob(Expression):
    """The value of a knob; `knob[-1]` is the innermost factor of a split, `product()` its tile."""

    name: str
    # Without this, Python would iterate by __getitem__ and never end.
    __iter__ = None

    def __getitem__(self, index: int) -> Expression:
        return Item(self, index)

    def product(self, start: int = 0) -> Expression:
        """Product of the factors from position `start` on; `product(1)` is a split's tile."""
        return Product(self, start)

    def renamed(self, names: Mapping[str, str]) -> Knob:
        return Knob(names.get(self.name, self.name))

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        return values[self.name]

    def to_json(self) -> Any:
        return ["knob", self.name]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False, slots=True)
class Item(Expression):
    """One entry of a split, a permutation or an annotation."""

    knob: Knob
    index: int

    def parts(self) -> tuple[Expression, ...]:
        return (self.knob,)

    def renamed(self, names: Mapping[str, str]) -> Expression:
        return Item(self.knob.renamed(names), self.index)

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        return values[self.knob.name][self.index]

    def to_json(self) -> Any:
        return ["item", self.knob.name, self.index]

    def __str__(self) -> str:
        return f"{self.knob}[{self.index}]"


@dataclass(frozen=True, eq=False, slots=True)
class Product(Expression):
    """The product of a split's factors from a position on."""

    knob: Knob
    start: int

    def parts(self) -> tuple[Expression, ...]:
        return (self.knob,)

    def renamed(self, names: Mapping[str, str]) -> Expression:
        return Product(self.knob.renamed(names), self.start)

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        return math.prod(values[self.knob.name][self.start :])

    def to_json(self) -> Any:
        return ["product", self.knob.name, self.start]

    def __str__(self) -> str:
        return f"{self.knob}.product({self.start or ''})"


@dataclass(frozen=True, eq=False, slots=True)
class Not(Expression):
    """True where its operand is not."""

    operand: Expression

    def parts(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def renamed(self, names: Mapping[str, str]) -> Expression:
        return Not(self.operand.renamed(names))

    def evaluate(self, values: Mapping[str, Any]) -> bool:
        return not self.operand.evaluate(values)

    def to_json(self) -> Any:
        return ["not", self.operand.to_json()]

    def __str__(self) -> str:
        return f"~({self.operand})"


@dataclass(frozen=True, eq=False, slots=True)
class Binary(Expression):
    """Two expressions joined by an operation; `and` and `or` skip the right one where they can."""

    operation: str
    left: Expression
    right: Expression

    def parts(self) -> tuple[Expression, ...]:
        return (self.left, self.right)

    def renamed(self, names: Mapping[str, str]) -> Expression:
        return Binary(self.operation, self.left.renamed(names), self.right.renamed(names))

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        left = self.left.evaluate(values)
        if self.operation == "and":
            return bool(left) and bool(self.right.evaluate(values))
        if self.operation == "or":
            return bool(left) or bool(self.right.evaluate(values))
        return OPERATIONS[self.operation](left, self.right.evaluate(values))

    def to_json(self) -> Any:
        return [self.operation, self.left.to_json(), self.right.to_json()]

    def __str__(self) -> str:
        parts = (f"({p})" if isinstance(p, Binary) else str(p) for p in self.parts())
        return f" {self.operation} ".join(parts)


def holds(constraint: Expression, values: Mapping[str, Any]) -> bool:
    """Whether these knob values satisfy it; a point at which it divides by zero does not."""
    try:
        return bool(constraint.evaluate(values))
    except ZeroDivisionError:
        return False


def as_expression(value: Any) -> Expression:
    """The expression itself, or a constant. Raises UsageError for what a file could not hold."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, str) and len(value) <= MAX_TEXT:
        return Constant(value)
    if isinstance(value, int | float) and -MAX_NUMBER <= value <= MAX_NUMBER:
        return Constant(value)
    if value is None:
        return Constant(None)
    raise _refused(value)


def expression_from_json(data: Any) -> Expression:
    """The inverse of `Expression.to_json`, by whitelist. Raises UsageError for anything else.

    At most 256 nodes, 32 deep, numbers within 2**53: nothing a file says can cost time or memory.
    """
    budget = [MAX_NODES]
    return _parse(data, MAX_DEPTH, budget)


def _parse(data: Any, depth: int, budget: list[int]) -> Expression:
    budget[0] -= 1
    if depth == 0 or budget[0] < 0:
        raise UsageError(
            f"constraint: more than {MAX_NODES} parts or {MAX_DEPTH} levels",
            remedy="split it into several constraints",
        )
    if not isinstance(data, list):
        return as_expression(data)
    match data:
        case ["knob", str(name)]:
            return Knob(name)
        case ["item", str(name), int(index)]:
            return Item(Knob(name), index)
        case ["product", str(name), int(start)]:
            return Product(Knob(name), start)
        case ["not", operand]:
            return Not(_parse(operand, depth - 1, budget))
        case [str(name), left, right] if name in OPERATIONS or name in ("and", "or"):
            return Binary(name, _parse(left, depth - 1, budget), _parse(right, depth - 1, budget))
    raise _refused(data)


def _refused(value: Any) -> UsageError:
    # Neither long, nor deep, nor a number of more digits than Python writes out.
    shown = type(value).__name__ if isinstance(value, str | int) else reprlib.repr(value)[:60]
    return UsageError(
        f"constraint: expected a number, a short text or [operation, parts...], got {shown}",
        remedy="operations are knob, item, product, not, and, or, " + " ".join(OPERATIONS),
    )
