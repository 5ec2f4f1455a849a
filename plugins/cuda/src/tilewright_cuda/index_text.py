"""Index arithmetic as C."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright_cuda.c_names import CNames
from tilewright_tensor.affine import Affine, FloorDiv, Mod, Var
from tilewright_tensor.facts import Condition
from tilewright_tensor.loop_ir import Buffer

_INT_MAX = 2**31 - 1


class IndexText:
    """Writes indexes over the loops that are open; knows how far each runs."""

    def __init__(self, names: CNames) -> None:
        self.names = names
        self.bounds: dict[Var, tuple[int, int]] = {}
        self.helpers: set[str] = set()
        """Names of the prelude that were used."""
        self._flat: dict[tuple[str, int], tuple[Sequence[Affine], Affine]] = {}
        """By buffer and identity of the indexes, which holds as long as they are kept here."""

    def helper(self, name: str) -> str:
        """A name of the prelude, which the text will need."""
        self.helpers.add(name)
        return name

    def index(self, value: Affine) -> str:
        """The index as a C expression that binds as tightly as a sum."""
        wide = "LL" if self._is_wide(value) else ""
        parts: list[str] = []
        for atom, coefficient in value.terms:
            text = self.names.of(atom.name) if isinstance(atom, Var) else self._division(atom)
            if wide or abs(coefficient) != 1:
                text = f"{text} * {abs(coefficient)}{wide}"
            sign = "-" if coefficient < 0 else "+" if parts else ""
            parts.append(f" {sign} {text}" if parts else f"{sign}{text}")
        if value.constant or not parts:
            sign = "-" if value.constant < 0 else "+"
            number = f"{abs(value.constant)}{wide}"
            parts.append(f" {sign} {number}" if parts else f"{value.constant}{wide}")
        return "".join(parts)

    def condition(self, condition: Condition) -> str:
        """`index < limit`; a lower bound the other way round."""
        index, limit = condition
        if index.terms and all(coefficient < 0 for _, coefficient in index.terms):
            return f"{self.index(-Affine(index.terms))} >= {1 - limit + index.constant}"
        return f"{self.index(Affine(index.terms))} < {limit - index.constant}"

    def conditions(self, conditions: Sequence[Condition]) -> str:
        """All of them."""
        return " && ".join(self.condition(one) for one in conditions)

    def flat(self, buffer: Buffer, indices: Sequence[Affine]) -> Affine:
        """The access as one index into row-major memory."""
        key = buffer.name, id(indices)
        if key not in self._flat:
            self._flat[key] = indices, buffer.flat(indices)
        return self._flat[key][1]

    def _division(self, atom: FloorDiv | Mod) -> str:
        value, divisor, is_mod = atom.value, atom.divisor, isinstance(atom, Mod)
        text = self.index(value)
        if value.range(self.bounds)[0] < 0:
            # C divides towards zero
            name = self.helper("tw_floor_mod" if is_mod else "tw_floor_div")
            kind = "<long long>" if "LL" in text else ""
            return f"{name}{kind}({text}, {divisor})"
        if len(value.terms) > 1 or value.constant or value.terms[0][1] != 1:
            text = f"({text})"
        return f"{text} {'%' if is_mod else '/'} {divisor}"

    def _is_wide(self, value: Affine) -> bool:
        low, high = value.range(self.bounds)
        return low < -_INT_MAX or high > _INT_MAX
