"""A matrix put in pairs of terms: what products of bfloat16 read as their second operand."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import fused
from tilewright_x86.strategies.tiles.vector_blocks import largest_divisor


@dataclass(frozen=True, slots=True)
class PairsOfTerms:
    """How rows of columns are interleaved by two in registers, as they are stored.

    term    number of the axis of terms
    column  number of that of columns, in vectors
    turns   whether the source runs along terms: then a square of it is turned first
    width   elements of a vector of float32
    """

    term: int
    column: int
    turns: bool
    width: int

    def stored(self, schedule: Schedule, final: str, terms: int) -> tuple[Schedule, list[str]]:
        """(`final` in vectors of pairs, its loops around a square of them)."""
        rows = largest_divisor(terms // 2, 8) if self.turns else 1
        loops = schedule.loops(final)
        k, n = loops[self.term], loops[self.column]
        s = schedule.split(final, k, [rows, 2]).split(final, n, [self.width])
        around = [*(loop for loop in loops if loop not in (k, n)), f"{n}.0", f"{k}.0"]
        s = s.reorder(final, [*around, f"{k}.1", f"{n}.1", f"{k}.2"]).unroll(final, f"{k}.1")
        s, pair = fused(s, final, [f"{n}.1", f"{k}.2"])
        return s.vectorize(final, pair), around

    def held(self, schedule: Schedule, final: str, held: str, loop: str) -> Schedule:
        """`held`, of which `final` is a copy, in registers at a loop of `final`."""
        s, term, column = schedule, self.term, self.column
        if self.turns:
            s, turned = s.cache_read(held, "register", [final]), f"{held}.register"
            s = s.compute_at(turned, final, loop, "register")
            s = _rows_of(s, turned, term, column)
            term, column = column, term
        return _rows_of(s.compute_at(held, final, loop, "register"), held, term, column)


def _rows_of(schedule: Schedule, stage: str, row: int, column: int) -> Schedule:
    """A stage in vectors along one axis, unrolled along another."""
    loops = schedule.loops(stage)
    inner = loops[row], loops[column]
    s = schedule.reorder(stage, [*(loop for loop in loops if loop not in inner), *inner])
    return s.unroll(stage, inner[0]).vectorize(stage, inner[1])
