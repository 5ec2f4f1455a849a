"""A dimension of a network's inputs that has a name and a range of sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import UsageError
from tilewright.vocabulary.workload import TensorSpec
from tilewright_graph.network.rows import Rows
from tilewright_graph.network.size_range import SizeRange


@dataclass(frozen=True)
class Dimension:
    """Its name, its sizes, and where its rows lie in inputs and results, by tensor.

    independent   no row depends on others: rows may be added and left out, and run by themselves
    """

    name: str
    sizes: SizeRange
    rows: Mapping[str, Rows]
    independent: bool

    def check(self, size: int, where: str) -> None:
        """Raise UsageError for a size outside of the range."""
        if size not in self.sizes:
            raise UsageError(
                f"{self.name} is {size}, expected {self.sizes}",
                where=where,
                remedy=f"for others, compile it with --dim {self.name}=LEAST..MOST",
            )

    def spec(self, name: str, spec: TensorSpec, size: int) -> TensorSpec:
        """What a tensor is at a size, given what it is at another."""
        rows = self.rows.get(name)
        if rows is None:
            return spec
        shape = list(spec.shape)
        shape[rows.axis] = size * rows.within
        return TensorSpec(tuple(shape), spec.dtype, spec.role)

    def text(self, name: str, spec: TensorSpec) -> str:
        """A spec as in `float32[batch, 3, 224, 224]`."""
        shape: list[int | str] = [*spec.shape]
        if rows := self.rows.get(name):
            shape[rows.axis] = f"{rows.within}*{self.name}" if rows.within > 1 else self.name
        return f"{spec.dtype}[{', '.join(map(str, shape))}]"

    def part(self, arrays: Mapping[str, Any], first: int, size: int) -> dict[str, Any]:
        """So many rows of arrays, from the first of them."""
        made = dict(arrays)
        for name, rows in self._of(arrays):
            places = slice(first * rows.within, (first + size) * rows.within)
            made[name] = np.ascontiguousarray(arrays[name][*(slice(None),) * rows.axis, places])
        return made

    def joined(self, parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The rows of all parts, in order."""
        made = dict(parts[0])
        if len(parts) > 1:
            for name, rows in self._of(made):
                made[name] = np.concatenate([part[name] for part in parts], rows.axis)
        return made

    def _of(self, arrays: Mapping[str, Any]) -> list[tuple[str, Rows]]:
        return [(name, rows) for name, rows in self.rows.items() if name in arrays]

    def to_json(self) -> dict[str, Any]:
        rows = {name: [rows.axis, rows.within] for name, rows in self.rows.items()}
        return {
            "name": self.name,
            "sizes": str(self.sizes),
            "rows": rows,
            "independent": self.independent,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Dimension:
        """Raises ValueError, KeyError or TypeError for data of another form."""
        rows = {name: Rows(*map(int, parts)) for name, parts in data["rows"].items()}
        if any(min(one.axis, one.within - 1) < 0 for one in rows.values()):
            raise ValueError("rows below 0")
        sizes = SizeRange.parse(data["sizes"])
        return cls(str(data["name"]), sizes, rows, bool(data["independent"]))
