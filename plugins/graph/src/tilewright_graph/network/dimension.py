"""A dimension of a network's inputs that has a name and a range of sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tilewright.errors import UsageError
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
