"""A dimension of a network's inputs that has a name and a range of sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tilewright.errors import UsageError
from tilewright_graph.ranges.size_range import SizeRange
from tilewright_graph.ranges.stage_rows import Rows


@dataclass(frozen=True)
class Dimension:
    """Its name, its sizes, and where its rows lie in inputs and results, by tensor.

    Rows that others read may lie in several axes of a tensor, as in those of a mask of N x N.

    independent   no row depends on others, nor on its number: each may run by itself
    masked        rows may be added though they are read by others: those given come out the same
    mask          an input of the networks of more than one row: which rows are given, one true or
                  false each; none where nothing asks for it
    """

    name: str
    sizes: SizeRange
    rows: Mapping[str, tuple[Rows, ...]]
    independent: bool
    masked: bool = False
    mask: str = ""

    @property
    def padded(self) -> bool:
        """Whether a network of more rows answers right."""
        return self.independent or self.masked

    def check(self, size: int, where: str) -> None:
        """Raise UsageError for a size outside of the range."""
        if size not in self.sizes:
            raise UsageError(
                f"{self.name} is {size}, expected {self.sizes}",
                where=where,
                remedy=f"for others, compile it with --dim {self.name}=LEAST..MOST",
            )

    def to_json(self) -> dict[str, Any]:
        rows = {name: [[r.axis, r.within] for r in lie] for name, lie in self.rows.items()}
        return {
            "name": self.name,
            "sizes": str(self.sizes),
            "rows": rows,
            "independent": self.independent,
            **({"masked": True} if self.masked else {}),
            **({"mask": self.mask} if self.mask else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Dimension:
        """Raises ValueError, KeyError or TypeError for data of another form."""
        rows = {
            name: tuple(Rows(*map(int, parts)) for parts in lie)
            for name, lie in data["rows"].items()
        }
        if any(min(one.axis, one.within - 1) < 0 for lie in rows.values() for one in lie):
            raise ValueError("rows below 0")
        independent = bool(data["independent"])
        counts = {*map(len, rows.values())}
        if 0 in counts or (independent and counts - {1}):
            raise ValueError("rows in no axis, or independent ones in several")
        masked, mask = bool(data.get("masked")), str(data.get("mask", ""))
        if independent and (masked or mask):
            raise ValueError("masks of independent rows")
        sizes = SizeRange.parse(data["sizes"])
        return cls(str(data["name"]), sizes, rows, independent, masked, mask)
