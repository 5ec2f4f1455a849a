"""The characters that bars, lines and curves are drawn with, as far as a terminal has them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Glyphs:
    """One character each, but `levels`, which rise.

    full, empty   of a bar
    rule          below a table's head
    done, at      behind a stage that has ended, before the one at work
    cut           in place of a text's end
    """

    levels: str
    full: str
    empty: str
    rule: str
    done: str
    at: str
    cut: str

    def fitted(self, text: str, width: int) -> str:
        """The text, its end cut off where it is wider than so many columns."""
        from rich.cells import cell_len, set_cell_size

        if cell_len(text) <= width:
            return text
        return set_cell_size(text, width - 1) + self.cut if width > 0 else ""

    def bar(self, share: float, width: int) -> tuple[str, str]:
        """The full and the empty part of a bar."""
        full = min(width, max(0, int(share * width)))
        return self.full * full, self.empty * (width - full)

    def curve(self, points: Sequence[tuple[float, float]], until: float, width: int) -> str:
        """Values over time, a column each; a value holds until the next one.

        Heights are of logarithms between the least and the greatest.

        points   (seconds, value), at least one; values are positive
        until    seconds at the right edge
        """
        start = points[0][0]
        logs = [math.log(value) for _, value in points]
        low, span = min(logs), max(logs) - min(logs)
        drawn, place = [], 0
        for column in range(width):
            at = start + (until - start) * (column + 1) / width
            while place + 1 < len(points) and points[place + 1][0] <= at:
                place += 1
            share = (logs[place] - low) / span if span else 0.0
            drawn.append(self.levels[round(share * (len(self.levels) - 1))])
        return "".join(drawn)


_BLOCKS = Glyphs("▁▂▃▄▅▆▇█", "━", "─", "─", "✓", "▸", "…")
_ASCII = Glyphs("_.-=+*#@", "=", "-", "-", "*", ">", "~")


def glyphs_for(encoding: str) -> Glyphs:
    """Blocks, or ASCII where the encoding has none."""
    try:
        "".join(getattr(_BLOCKS, name) for name in Glyphs.__slots__).encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return _ASCII
    return _BLOCKS
