"""Affine indexes: a constant plus integer multiples of variables, floor divisions and remainders.

Adding and scaling keep the form, so address arithmetic never becomes a tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import gcd
from typing import Any, Union

from tilewright_tensor.expressions.comparisons import Comparable, comparable


class IndexArithmetic(Comparable):
    """Lets a variable or an axis stand in index arithmetic; every result is an `Affine`."""

    __slots__ = ()

    def affine(self) -> Affine:
        """Itself as an index."""
        raise NotImplementedError

    def __add__(self, other: Index) -> Affine:
        return self.affine() + index(other)

    def __radd__(self, other: Index) -> Affine:
        return index(other) + self.affine()

    def __sub__(self, other: Index) -> Affine:
        return self.affine() - index(other)

    def __rsub__(self, other: Index) -> Affine:
        return index(other) - self.affine()

    def __mul__(self, factor: int) -> Affine:
        return self.affine() * factor

    __rmul__ = __mul__

    def __neg__(self) -> Affine:
        return self.affine() * -1

    def __floordiv__(self, divisor: int) -> Affine:
        return self.affine() // divisor

    def __mod__(self, divisor: int) -> Affine:
        return self.affine() % divisor


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Var(IndexArithmetic):
    """A loop variable; equal by name, so names are unique within a program. It runs from 0.

    Each name has one object: comparing and hashing, asked for all the time, are the object's own,
    and there is one index of it.
    """

    name: str
    _index: Affine = field(repr=False)

    def __new__(cls, name: str) -> Var:
        known = _VARIABLES.get(name)
        if known is None:
            known = object.__new__(cls)
            object.__setattr__(known, "name", name)
            object.__setattr__(known, "_index", Affine(((known, 1),)))
            known = _VARIABLES.setdefault(name, known)
        return known

    def __reduce__(self) -> tuple[type[Var], tuple[str]]:
        return Var, (self.name,)

    def affine(self) -> Affine:
        return self._index


_VARIABLES: dict[str, Var] = {}


@dataclass(frozen=True, slots=True, init=False, eq=False)
class _Division:
    """Has its hash at hand: sums are merged by atoms, and divisions stand in divisions."""

    value: Affine
    divisor: int
    _hash: int = field(repr=False)

    def __init__(self, value: Affine, divisor: int) -> None:
        _set_value(self, value)
        _set_divisor(self, divisor)
        _set_hash(self, hash((type(self), value.terms, value.constant, divisor)))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is type(self)
            and other._hash == self._hash
            and other.divisor == self.divisor
            and (other.value.terms, other.value.constant) == (self.value.terms, self.value.constant)
        )

    def variables(self) -> frozenset[Var]:
        """Every variable inside."""
        return self.value.variables()

    def substitute(self, values: Mapping[Var, Affine], bounds: Bounds) -> Affine | None:
        """Itself with variables replaced, simplified; None where none of them occurs."""
        inner = self.value.substitute(values, bounds)
        if inner is self.value:
            return None
        return divided(inner, self.divisor, bounds)[isinstance(self, Mod)]


class FloorDiv(_Division):
    """`value // divisor`, divisor >= 2."""

    __slots__ = ()

    def range(self, low: int, high: int) -> tuple[int, int]:
        """Smallest and largest value where `value` runs between these."""
        return low // self.divisor, high // self.divisor


class Mod(_Division):
    """`value % divisor`, divisor >= 2, result in [0, divisor)."""

    __slots__ = ()

    def range(self, low: int, high: int) -> tuple[int, int]:
        """Smallest and largest value where `value` runs between these."""
        if low // self.divisor == high // self.divisor:
            return low % self.divisor, high % self.divisor
        return 0, self.divisor - 1


class Element:
    """An index below `extent` that is read from memory: a `Lookup`, which is also noted."""

    __slots__ = ()
    value: Any
    extent: int
    with_value: Callable[[Any], Affine]
    variables: Callable[[], frozenset[Var]]
    substitute: Callable[[Mapping[Var, Affine], Bounds], Affine | None]


Atom = Union[Var, FloorDiv, Mod, Element]
Bounds = Mapping[Var, tuple[int, int]]
"""Inclusive range of each variable."""


@comparable
@dataclass(frozen=True, slots=True, init=False)
class Affine(Comparable):
    """`constant + sum of coefficient * atom`.

    Terms are in order of first use, without zero coefficients, no atom twice.
    """

    terms: tuple[tuple[Atom, int], ...]
    constant: int

    def __init__(self, terms: tuple[tuple[Atom, int], ...] = (), constant: int = 0) -> None:
        # what a frozen dataclass has of its own takes twice as long, and lowering makes thousands
        _set_terms(self, terms)
        _set_constant(self, constant)

    def affine(self) -> Affine:
        return self

    def __add__(self, other: Index) -> Affine:
        if isinstance(other, int):
            return Affine(self.terms, self.constant + other) if other else self
        if not isinstance(other, Affine):
            other = index(other)
        if not self.terms:
            return Affine(other.terms, self.constant + other.constant) if self.constant else other
        if not other.terms:
            return self + other.constant
        merged = dict(self.terms)
        for atom, coefficient in other.terms:
            merged[atom] = merged.get(atom, 0) + coefficient
        constant = self.constant + other.constant
        return Affine(tuple([term for term in merged.items() if term[1]]), constant)

    def __radd__(self, other: Index) -> Affine:
        return index(other) + self

    def __mul__(self, factor: int) -> Affine:
        if not isinstance(factor, int):
            raise TypeError(_no_index(factor))
        if factor in (0, 1):
            return self if factor else Affine()
        return Affine(tuple([(a, c * factor) for a, c in self.terms]), self.constant * factor)

    __rmul__ = __mul__

    def __neg__(self) -> Affine:
        return self * -1

    def __sub__(self, other: Index) -> Affine:
        other = index(other)
        if not other.terms:
            return self + -other.constant
        merged = dict(self.terms)
        for atom, coefficient in other.terms:
            merged[atom] = merged.get(atom, 0) - coefficient
        constant = self.constant - other.constant
        return Affine(tuple([term for term in merged.items() if term[1]]), constant)

    def __rsub__(self, other: Index) -> Affine:
        return index(other) - self

    def __floordiv__(self, divisor: int) -> Affine:
        return floor_div(self, _divisor(divisor))

    def __mod__(self, divisor: int) -> Affine:
        return mod(self, _divisor(divisor))

    @property
    def is_constant(self) -> bool:
        return not self.terms

    def variables(self) -> frozenset[Var]:
        """Every variable inside, those under divisions too."""
        found: set[Var] = set()
        for atom, _ in self.terms:
            if isinstance(atom, Var):
                found.add(atom)
            else:
                found |= atom.variables()
        return frozenset(found)

    def substitute(self, values: Mapping[Var, Affine], bounds: Bounds = {}) -> Affine:  # noqa: B006
        """Every variable replaced where `values` has it.

        Divisions in which something is replaced are simplified again under the bounds.
        """
        merged: dict[Atom, int] = {}
        constant, changed = self.constant, False
        for atom, coefficient in self.terms:
            new = values.get(atom) if isinstance(atom, Var) else atom.substitute(values, bounds)
            if new is None:
                merged[atom] = merged.get(atom, 0) + coefficient
                continue
            changed = True
            constant += new.constant * coefficient
            for one, scale in new.terms:
                merged[one] = merged.get(one, 0) + scale * coefficient
        if not changed:
            return self
        return Affine(tuple([term for term in merged.items() if term[1]]), constant)

    def range(self, bounds: Bounds) -> tuple[int, int]:
        """Smallest and largest value, inclusive; exact for affine terms, safe for divisions.

        Raises KeyError where a variable has no bounds.
        """
        low = high = self.constant
        for atom, coefficient in self.terms:
            if isinstance(atom, Var):
                lo, hi = bounds[atom]
            elif isinstance(atom, Element):
                lo, hi = 0, atom.extent - 1
            else:
                lo, hi = atom.range(*atom.value.range(bounds))
            if coefficient > 0:
                low += coefficient * lo
                high += coefficient * hi
            else:
                low += coefficient * hi
                high += coefficient * lo
        return low, high

    def evaluate(self, values: Mapping[Var, int]) -> int:
        """The number it is at a point."""
        total = self.constant
        for atom, coefficient in self.terms:
            if isinstance(atom, Var):
                total += coefficient * values[atom]
            elif isinstance(atom, FloorDiv):
                total += coefficient * (atom.value.evaluate(values) // atom.divisor)
            else:
                assert isinstance(atom, Mod), f"{atom} is known when the program runs"
                total += coefficient * (atom.value.evaluate(values) % atom.divisor)
        return total

    def __str__(self) -> str:
        parts: list[str] = []
        for atom, coefficient in self.terms:
            if isinstance(atom, Var):
                text = atom.name
            elif isinstance(atom, Element):
                text = str(atom)
            else:
                inner = str(atom.value)
                if len(atom.value.terms) > 1 or atom.value.constant:
                    inner = f"({inner})"
                text = f"({inner} {'//' if isinstance(atom, FloorDiv) else '%'} {atom.divisor})"
            scale = "" if abs(coefficient) == 1 else f"*{abs(coefficient)}"
            if parts:
                parts.append(f" {'-' if coefficient < 0 else '+'} {text}{scale}")
            else:
                parts.append(f"{'-' if coefficient < 0 else ''}{text}{scale}")
        if not parts:
            return str(self.constant)
        if self.constant:
            parts.append(f" {'-' if self.constant < 0 else '+'} {abs(self.constant)}")
        return "".join(parts)


_set_terms, _set_constant = (vars(Affine)[slot].__set__ for slot in ("terms", "constant"))
_set_value, _set_divisor, _set_hash = (
    vars(_Division)[slot].__set__ for slot in ("value", "divisor", "_hash")
)
Index = Union[Affine, IndexArithmetic, int]


def index(value: Index) -> Affine:
    """Anything usable as an index, as an `Affine`. Raises TypeError for anything else."""
    if isinstance(value, Affine):
        return value
    if isinstance(value, int):
        return Affine((), value)
    if not isinstance(value, IndexArithmetic):
        raise TypeError(_no_index(value))
    return value.affine()


def _no_index(part: Any) -> str:
    remedy = "among values, cast(axis, dtype); found in memory, lookup(x, extent)"
    return f"an index is a sum of axes times whole numbers, got {type(part).__name__}; {remedy}"


def _divisor(divisor: Any) -> int:
    if isinstance(divisor, int) and divisor > 0:
        return divisor
    raise TypeError(f"an index is divided by positive whole numbers, got {divisor!r}")


def floor_div(value: Affine, divisor: int, bounds: Bounds = {}) -> Affine:  # noqa: B006
    """`value // divisor`, simplified as far as the variables' bounds allow."""
    return divided(value, divisor, bounds)[0]


def mod(value: Affine, divisor: int, bounds: Bounds = {}) -> Affine:  # noqa: B006
    """`value % divisor`, simplified as far as the variables' bounds allow."""
    return divided(value, divisor, bounds)[1]


def divided(value: Affine, divisor: int, bounds: Bounds) -> tuple[Affine, Affine]:
    """Quotient and remainder, simplified as far as the variables' bounds allow."""
    if divisor == 1:
        return value, Affine()
    whole, rest = multiples(value, divisor)
    if not rest.terms:
        return whole, rest
    span = _range(rest, bounds)
    if span and span[0] // divisor == span[1] // divisor:
        shift = span[0] // divisor
        return whole + shift, rest - shift * divisor
    # (g*a + r) // (g*d) == a // d where 0 <= r < g
    for factor in sorted({gcd(c, divisor) for _, c in rest.terms} - {1}, reverse=True):
        multiple, small = multiples(rest, factor)
        span = _range(small, bounds)
        if span and span[0] >= 0 and span[1] < factor:
            quotient, remainder = divided(multiple, divisor // factor, bounds)
            return whole + quotient, remainder * factor + small
    if len(rest.terms) == 1 and not rest.constant:
        ((atom, coefficient),) = rest.terms
        if coefficient == 1 and isinstance(atom, FloorDiv):
            outer = Affine(((FloorDiv(atom.value, atom.divisor * divisor), 1),))
            return whole + outer, Affine(((Mod(rest, divisor), 1),))
        if coefficient == 1 and isinstance(atom, Mod) and atom.divisor % divisor == 0:
            outer = Affine(((FloorDiv(rest, divisor), 1),))
            return whole + outer, divided(atom.value, divisor, bounds)[1]
    return whole + Affine(((FloorDiv(rest, divisor), 1),)), Affine(((Mod(rest, divisor), 1),))


def multiples(value: Affine, divisor: int) -> tuple[Affine, Affine]:
    """(a, b) with value = a*divisor + b, every multiple of the divisor in a."""
    whole = [(atom, c // divisor) for atom, c in value.terms if not c % divisor]
    times, constant = divmod(value.constant, divisor)
    if not whole and not times:
        return Affine(), value
    rest = [term for term in value.terms if term[1] % divisor]
    return Affine(tuple(whole), times), Affine(tuple(rest), constant)


def _range(value: Affine, bounds: Bounds) -> tuple[int, int] | None:
    if not bounds and value.terms:
        return None
    try:
        return value.range(bounds)
    except KeyError:
        return None
