"""Reductions by rows: some threads share a row and join their partial results in shared memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from tilewright.space.feasible.constraint import Expression
from tilewright.space.knobs import Knobs
from tilewright_tensor.expressions.affine import Affine, Index
from tilewright_tensor.expressions.buffer import Scope
from tilewright_tensor.expressions.tensor import Axis
from tilewright_tensor.ir.loop_ir import LoopKind
from tilewright_tensor.schedule.schedule import Schedule

MOST_THREADS = 1024
_LAST_STEP = 8
"""Partial results that every thread adds up for itself in the end."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A tensor as rows to be reduced: the `reduced` axes are columns, the others rows."""

    shape: tuple[int, ...]
    reduced: tuple[int, ...]

    @property
    def count(self) -> int:
        """Number of rows."""
        return prod(self.shape[axis] for axis in self._kept)

    @property
    def length(self) -> int:
        """Elements of a row."""
        return prod(self.shape[axis] for axis in self.reduced)

    @property
    def _kept(self) -> tuple[int, ...]:
        return tuple(axis for axis in range(len(self.shape)) if axis not in self.reduced)

    def place(self, row: Axis, column: Axis) -> tuple[Affine, ...]:
        """Where an element of a row is in the tensor."""
        found = dict(self._parts(row.affine(), self._kept))
        found.update(self._parts(column.affine(), self.reduced))
        return tuple(found[axis] for axis in range(len(self.shape)))

    def row_of(self, place: Sequence[Index]) -> Affine:
        """The row of a place; what it says of reduced axes does not matter."""
        number = Affine()
        for axis in self._kept:
            number = number * self.shape[axis] + place[axis]
        return number

    def _parts(self, rest: Affine, axes: Sequence[int]) -> list[tuple[int, Affine]]:
        found = []
        for axis in reversed(axes[1:]):
            found.append((axis, rest % self.shape[axis]))
            rest = rest // self.shape[axis]
        return found + [(axis, rest) for axis in axes[:1]]


@dataclass(frozen=True, slots=True)
class RowThreads:
    """Threads of a block: `rows` rows at a time, `threads` to a row.

    along   the thread dimension of a row, `threadIdx.x` where its elements lie side by side in
            memory
    """

    rows: int
    threads: int
    along: LoopKind = "threadIdx.x"

    @classmethod
    def of(cls, values: Mapping[str, Any], *, contiguous: bool) -> RowThreads:
        """Those of the knobs `rows` and `threads`."""
        return cls(
            values["rows"], values["threads"], "threadIdx.x" if contiguous else "threadIdx.y"
        )

    @property
    def across(self) -> LoopKind:
        """The thread dimension over rows."""
        return "threadIdx.y" if self.along == "threadIdx.x" else "threadIdx.x"

    def reduced(
        self, s: Schedule, stage: str, consumer: str, at: str, scope: Scope, *, lanes: int = 1
    ) -> Schedule:
        """The stage reduced by the threads of its row, inside the consumer's loop.

        Its first axis, if it has any, is the row; others are gone through by every thread. Each
        thread reduces its share, `lanes` neighbouring elements at a time; then fewer threads at
        each step the shares of others (rfactor of Suriana et al., CGO 2017; the tree of Harris,
        2007). The last step is each thread's own where the consumer is inside the threads' loop
        (scope `register`), else that of one thread a row (`shared`).
        """
        k = s.loops(stage)[-1]
        width, parts = self.threads, list[str]()
        while width > 1:
            inner = [lanes] if lanes > 1 and not parts else []
            s = s.split(stage, k, [width, *inner]).rfactor(stage, f"{k}.1")
            parts.append(list(s.stages)[list(s.stages).index(stage) - 1])
            k, width = f"{k}.1", (width // _LAST_STEP if width > _LAST_STEP else 1)
        for part in parts:
            *around, column = s.loops(part)[: len(s.stages[part].axes)]
            row, others = around[:1], around[1:]
            held = s.stages[part].combiner is not None
            if held:
                s = s.cache_write(part, "register")
            s = s.reorder(part, [*row, column, *others]).bind(part, column, self.along)
            for one in row:
                s = s.bind(part, one, self.across)
            for nest in (part, *([f"{part}.register"] if held else [])):
                s = s.unroll(nest, *others)
            s = s.compute_at(part, consumer, at, "shared")
            if held:
                s = s.compute_at(f"{part}.register", part, column, "register")
        axes = s.loops(stage)[: len(s.stages[stage].axes)]
        if scope == "shared":  # or the threads of every row would add up all rows, in one place
            for one in axes[:1]:
                s = s.bind(stage, one, self.across)
        return s.unroll(stage, *axes[1:]).compute_at(stage, consumer, at, scope)


def define_row_threads(knobs: Knobs, rows: Rows, *, contiguous: bool) -> None:
    """Knobs `rows` and `threads`; blocks hold whole warps, unless there are fewer elements."""
    some = knobs.define_knob("rows", _row_counts(rows))
    threads = knobs.define_knob("threads", _thread_counts(rows))
    block: Expression = some * threads
    least = min(32, rows.count * rows.length)
    knobs.constrain((block <= MOST_THREADS) & (block * 2 >= least))
    if not contiguous:
        knobs.constrain(some * 2 >= min(32, rows.count))


def fallback_row_threads(rows: Rows, *, contiguous: bool) -> dict[str, int]:
    """A warp or more to a row where rows are contiguous, else a warp of rows."""
    counts, some = _thread_counts(rows), _row_counts(rows)
    if not contiguous:
        return {"rows": some[-1], "threads": max(n for n in counts if n * some[-1] <= 256)}
    threads = max(n for n in counts if n <= max(32, rows.length // 4))
    least = min(32, rows.count * rows.length)
    return {"rows": next((n for n in some if n * threads * 2 >= least), 1), "threads": threads}


def _row_counts(rows: Rows) -> list[int]:
    return [n for n in (1, 2, 4, 8, 16, 32) if n == 1 or n <= rows.count]


def _thread_counts(rows: Rows) -> list[int]:
    return [n for n in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512) if n == 1 or n <= rows.length]
