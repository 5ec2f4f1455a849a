"""Facts at a point of a program: the ranges of variables and the guards around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from tilewright_tensor.expressions.affine import Affine, Bounds, FloorDiv, Var, multiples
from tilewright_tensor.expressions.expr import Const, IndexValue, Op, Value, lt, substituted

Condition = tuple[Affine, int]
"""`index < limit`."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Ranges of the variables, and conditions that hold."""

    bounds: Bounds
    conditions: tuple[Condition, ...] = ()

    def holds(self, condition: Condition) -> bool | None:
        """True or False where it is certain, else None."""
        index, limit = condition
        low, high = index.range(self.bounds)
        if high < limit:
            return True
        if low >= limit:
            return False
        for known, bound in self.conditions:
            # own*index = scale*known + rest <= scale*(bound - 1) + max(rest)
            own, scale = _scales(index, known)
            rest = (index * own - known * scale).range(self.bounds)[1]
            if (scale * (bound - 1) + rest) // own < limit:
                return True
        if len(index.terms) == 1:
            ((atom, coefficient),) = index.terms
            if isinstance(atom, FloorDiv) and coefficient > 0:
                # v // d < n exactly where v < n*d
                quotient = -((index.constant - limit) // coefficient)
                return self.holds((atom.value, quotient * atom.divisor))
        return True if self._holds_by_quotient(condition) else None

    def _holds_by_quotient(self, condition: Condition) -> bool:
        """Whether a condition on some v implies the one on an index with v // d in it."""
        index, limit = condition
        for atom, coefficient in index.terms if self.conditions else ():
            if not isinstance(atom, FloorDiv) or coefficient < 0:
                continue
            rest = index - Affine(((atom, coefficient),))
            # v // d <= n exactly where v < (n + 1)*d
            most = (limit - 1 - rest.range(self.bounds)[1]) // coefficient
            if self.holds((atom.value, (most + 1) * atom.divisor)):
                return True
            # (v // d)*d <= v
            above = rest * atom.divisor + atom.value * coefficient
            if self.holds((above, limit * atom.divisor)):
                return True
        return False

    def normal(self, condition: Condition) -> Condition:
        """The condition without what cannot change it.

        `16*a + b < 32` is `a < 2` where b is in 0 .. 15.
        """
        index, limit = condition
        for factor in sorted({abs(c) for _, c in index.terms} - {1}, reverse=True):
            if limit % factor:
                continue
            quotient, rest = multiples(index, factor)
            low, high = rest.range(self.bounds)
            if low >= 0 and high < factor:
                return quotient, limit // factor
        return condition

    def with_conditions(self, conditions: Sequence[Condition]) -> Facts:
        """With more that holds."""
        return Facts(self.bounds, (*self.conditions, *conditions)) if conditions else self

    def truth(self, value: Value, point: Mapping[Var, Affine]) -> bool | None:
        """What a value of dtype bool comes to at a point; None where that is not certain."""
        if isinstance(value, Const):
            return bool(value.value)
        if not isinstance(value, Op):
            return None
        if value.name in ("and", "or"):
            decisive = value.name == "or"
            known = [self.truth(arg, point) for arg in value.args]
            return decisive if decisive in known else None if None in known else not decisive
        if value.name == "not":
            opposite = self.truth(value.args[0], point)
            return None if opposite is None else not opposite
        if condition_of(value.name, value.args) is None:
            return None
        # each side by itself, as `simplified` gets them: what is certain here must be so there
        condition = condition_of(
            value.name, [substituted(arg, point, self.bounds) for arg in value.args]
        )
        return None if condition is None else self.holds(condition)

    def simplified(self, name: str, args: tuple[Value, ...], dtype: str) -> Value:
        """The operation, or what it comes to: decided comparisons, logic and selects are folded."""
        if name == "select" and isinstance(args[0], Const):
            return args[1] if args[0].value else args[2]
        if dtype != "bool":
            return Op(name, args, dtype)
        if name in ("and", "or"):
            decisive = name == "or"
            for one, other in (args, args[::-1]):
                if isinstance(one, Const):
                    return one if bool(one.value) is decisive else other
        if name == "not" and isinstance(args[0], Const):
            return Const(not args[0].value, "bool")
        condition = condition_of(name, args)
        if condition is not None:
            known = self.holds(condition)
            if known is not None:
                return Const(known, "bool")
            short = self.normal(condition)
            if short != condition:
                return lt(short[0], Affine((), short[1]))
        return Op(name, args, dtype)


def condition_of(name: str, args: Sequence[Value]) -> Condition | None:
    """What a comparison of two indexes by `<`, `<=`, `>` or `>=` says; None for any other value."""
    if name not in _LESS:
        return None
    left, right = args
    if not (isinstance(left, IndexValue) and isinstance(right, IndexValue)):
        return None
    return _LESS[name](left.value, right.value)


def _scales(index: Affine, known: Affine) -> tuple[int, int]:
    """Factors that make both have the same multiple of the first atom of what is known.

    (1, 1) where none do.
    """
    if known.terms:
        atom, theirs = known.terms[0]
        ours = dict(index.terms).get(atom, 0)
        if ours * theirs > 0:
            common = gcd(ours, theirs)
            return abs(theirs) // common, abs(ours) // common
    return 1, 1


_LESS: Mapping[str, Callable[[Affine, Affine], Condition]] = {
    "lt": lambda a, b: (a - b, 0),
    "le": lambda a, b: (a - b, 1),
    "gt": lambda a, b: (b - a, 0),
    "ge": lambda a, b: (b - a, 1),
}
