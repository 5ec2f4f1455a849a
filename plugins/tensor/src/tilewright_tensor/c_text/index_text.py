"""Index arithmetic as C."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy

from tilewright_tensor.c_text.c_names import CNames
from tilewright_tensor.c_text.dialect import Dialect
from tilewright_tensor.expressions.affine import Affine, Element, FloorDiv, Mod, Var
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Value
from tilewright_tensor.ir.facts import Condition

INT_MAX = 2**31 - 1


class IndexText:
    """Writes indexes over the open loops, whose extents it keeps."""

    def __init__(self, names: CNames, dialect: Dialect) -> None:
        self.names = names
        self.dialect = dialect
        self.point: Mapping[Var, Affine] = {}
        self.bounds: dict[Var, tuple[int, int]] = {}
        self.helpers: set[str] = set()
        """Names of the helpers that were used."""
        self.element: Callable[[Value], str]
        """Writes an index that is read from memory; set by the writer of values."""
        self._flat: dict[tuple[str, int], tuple[Sequence[Affine], Affine]] = {}
        """By buffer and identity of the indexes, which holds as long as they are kept here."""

    def helper(self, name: str) -> str:
        """A name of a helper, which the text will need."""
        self.helpers.add(name)
        return name

    def at(self, point: Mapping[Var, Affine]) -> IndexText:
        """Writes the same indexes where variables are what the point says."""
        other = copy(self)
        other.point = point
        return other

    def index(self, value: Affine) -> str:
        """The index as a C expression that binds as tightly as a sum."""
        return self._ranged(self._here(value))[0]

    def condition(self, condition: Condition) -> str:
        """`index < limit`; a lower bound the other way round."""
        index = self._here(condition[0])
        limit = condition[1] - index.constant
        if index.terms and all(coefficient < 0 for _, coefficient in index.terms):
            return f"{self._ranged(-Affine(index.terms))[0]} >= {1 - limit}"
        return f"{self._ranged(Affine(index.terms))[0]} < {limit}"

    def conditions(self, conditions: Sequence[Condition]) -> str:
        """All of them."""
        return " && ".join(self.condition(one) for one in conditions)

    def flat(self, buffer: Buffer, indices: Sequence[Affine]) -> Affine:
        """The access as one index into row-major memory."""
        key = buffer.name, id(indices)
        if key not in self._flat:
            self._flat[key] = indices, buffer.flat(indices)
        return self._flat[key][1]

    def _here(self, value: Affine) -> Affine:
        return value.substitute(self.point, self.bounds) if self.point else value

    def _ranged(self, value: Affine) -> tuple[str, int, int]:
        """(text, smallest value, largest value)."""
        low = high = value.constant
        terms: list[tuple[str, int]] = []
        for atom, coefficient in value.terms:
            if isinstance(atom, Var):
                text, (least, most) = self.names.of(atom), self.bounds[atom]
            elif isinstance(atom, Element):
                text, least, most = self.element(atom.value), 0, atom.extent - 1
            else:
                text, least, most = self._division(atom)
            terms.append((text, coefficient))
            if coefficient < 0:
                least, most = most, least
            low += coefficient * least
            high += coefficient * most
        wide = "LL" if low < -INT_MAX or high > INT_MAX else ""
        parts: list[str] = []
        for text, coefficient in terms:
            if wide or abs(coefficient) != 1:
                text = f"{text} * {abs(coefficient)}{wide}"  # noqa: PLW2901
            sign = "-" if coefficient < 0 else "+" if parts else ""
            parts.append(f" {sign} {text}" if parts else f"{sign}{text}")
        if value.constant or not parts:
            sign = "-" if value.constant < 0 else "+"
            number = f"{abs(value.constant)}{wide}"
            parts.append(f" {sign} {number}" if parts else f"{value.constant}{wide}")
        return "".join(parts), low, high

    def _division(self, atom: FloorDiv | Mod) -> tuple[str, int, int]:
        value, divisor, is_mod = atom.value, atom.divisor, isinstance(atom, Mod)
        text, low, high = self._ranged(value)
        if low < 0:
            # C divides towards zero
            name = "tw_floor_mod" if is_mod else "tw_floor_div"
            wide = "LL" in text or "long long" in text
            division = self.dialect.index_division(name, text, divisor, self.helpers, wide=wide)
            return division, *atom.range(low, high)
        if len(value.terms) > 1 or value.constant or value.terms[0][1] != 1:
            text = f"({text})"
        return f"{text} {'%' if is_mod else '/'} {divisor}", *atom.range(low, high)
