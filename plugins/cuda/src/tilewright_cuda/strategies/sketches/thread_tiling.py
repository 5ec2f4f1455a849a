"""Multi-level tiling for GPUs: SSSRRSRS, the first levels over blocks, virtual threads and threads.

Spatial axes in five parts, reduce axes in three. What a block reads is copied to shared memory once
for every outermost part of the reduction; sums stay in registers. Virtual threads are parts of a
thread's elements that lie as far apart as all threads are wide.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log2, prod

from tilewright.space.entities.split import divisors
from tilewright.space.feasible.constraint import Expression, Knob
from tilewright.space.knobs import Knobs
from tilewright_cuda.program.arch import SHARED_EVERYWHERE
from tilewright_cuda.strategies.sketches.thread_nest import unblocked
from tilewright_tensor.expressions.affine import Affine, Var
from tilewright_tensor.expressions.dtype import ITEM_BYTES
from tilewright_tensor.expressions.tensor import Axis
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.schedule.compute_stage import ComputeStage
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.access import reads
from tilewright_tensor.sketches.structure.loops import fused
from tilewright_tensor.sketches.structure.open_nest import OpenNest, Values
from tilewright_tensor.sketches.structure.sketch_input import SketchInput
from tilewright_tensor.sketches.structure.splits import define_splits, product, tile_knob
from tilewright_tensor.sketches.structure.vectors import Vectors

_INNER = (1, 2, 4, 7, 8)
_VIRTUAL = (1, 2, 4)
_MOST_VIRTUAL = 8
_DEPTHS = (1, 2, 3, 4, 7, 8, 16, 32)
_SUMS = (4, 128)
_THREADS = (32, 512)


@dataclass(frozen=True, eq=False)
class ThreadTiling(OpenNest):
    """A reduction in tiles.

    stage      what reduces
    consumer   the stage of equal shape that stores its tiles
    producers  stages that only this one reads, computed into shared memory
    """

    consumer: str
    producers: tuple[str, ...] = ()

    def with_vectors(self, vectors: Vectors) -> ThreadTiling:
        """The same in unblocked layouts."""
        return replace(self, vectors=unblocked(vectors))

    def declare(self, problem: SketchInput, schedule: Schedule, knobs: Knobs) -> None:
        """The parts of every axis, and whether the middle reduction is unrolled."""
        stage = schedule.stages[self.stage]
        wide = [axis for axis in stage.axes if axis.extent > 1]
        for axis in wide:
            define_splits(knobs, axis, _spatial(axis.extent))
        for axis in stage.reduce_axes:
            if axis.extent > 1:
                define_splits(knobs, axis, _reduction(axis.extent))
        knobs.define_knob("unroll", [False, True])
        tiles = [Knob(tile_knob(axis.name)) for axis in wide]
        threads, virtual = (product([tile[level] for tile in tiles]) for level in (2, 1))
        least = min(_THREADS[0], _largest([_spatial(a.extent) for a in wide], 2))
        knobs.constrain((threads >= least) & (threads <= _THREADS[1]))
        sums = virtual * product([tile.product(3) for tile in tiles])
        knobs.constrain((virtual <= _MOST_VIRTUAL) & (sums <= _SUMS[1]))
        held: Expression | int = 0
        for name in self._cached(stage):
            (item,) = {ITEM_BYTES[r.tensor.dtype] for r in reads(stage) if r.tensor.name == name}
            held = held + item * self._held(stage, name)
        if isinstance(held, Expression):
            knobs.constrain(held <= SHARED_EVERYWHERE)

    def apply(
        self, problem: SketchInput, s: Schedule, values: Values, layouts: Mapping[str, Layout]
    ) -> Schedule:
        """Blocks and threads on the consumer, sums inside, copies inside of these."""
        axes = s.stages[self.consumer].axes
        parts = [self._parts(values, axis) for axis in s.stages[self.stage].axes]
        loops = s.loops(self.consumer)[: len(axes)]
        for loop, (_, virtual, threads, third, inner) in zip(loops, parts, strict=True):
            s = s.split(self.consumer, loop, [virtual, threads, third * inner])
        order = [loops[dim.axis] for dim in layouts[self.consumer].dims]
        levels = [[f"{loop}.{level}" for loop in order] for level in (0, 2, 1, 3)]
        s = s.reorder(self.consumer, [loop for level in levels for loop in level])
        s = s.unroll(self.consumer, *levels[2], *levels[3])
        s, block = fused(s, self.consumer, levels[0])
        s, thread = fused(s, self.consumer, levels[1])
        s = s.bind(self.consumer, block, "blockIdx.x").bind(self.consumer, thread, "threadIdx.x")
        s = s.compute_at(self.stage, self.consumer, thread, "register")
        s, outermost = self._sums(s, values, parts)
        count = prod(part[2] for part in parts)
        for name in self._cached(s.stages[self.stage]):
            s = self._copied(s, name, outermost, count, layouts[name])
        return s

    def cost(self, problem: SketchInput, schedule: Schedule, values: Values) -> float:
        """A guess: enough blocks, half a thousand threads in flight, a square tile of sums."""
        axes = schedule.stages[self.stage].axes
        parts = [self._parts(values, axis) for axis in axes]
        blocks, threads = (prod(part[level] for part in parts) for level in (0, 2))
        sums = [part[1] * part[3] * part[4] for part in parts]
        loads = sum(1 / n for n in sums if n > 1) or 2.0
        return (
            abs(log2(threads / 128))
            + max(0.0, log2(132 / blocks))
            + loads
            + abs(log2(prod(sums) / 16))
        )

    def operand_layout(
        self, problem: SketchInput, schedule: Schedule, name: str, values: Values
    ) -> str | None:
        """Axes of the reduction outside, those along which neighbouring threads read inside."""
        stage = schedule.stages[self.stage]
        found = [read for read in reads(stage) if read.tensor.name == name]
        if name not in problem.constants or not found:
            return None
        letters, spatial = problem.constants[name], {axis.var for axis in stage.axes}
        inner = [not spatial.isdisjoint(one.variables()) for one in found[0].indices]
        chosen = zip(letters, inner, strict=True)
        return "".join(letter for letter, _ in sorted(chosen, key=lambda pair: pair[1]))

    # --- parts ------------------------------------------------------------------------------------

    def _parts(self, values: Values, axis: Axis) -> tuple[int, ...]:
        found: tuple[int, ...] = values.get(tile_knob(axis.name), (axis.extent, 1, 1, 1, 1))
        return found

    def _sums(
        self, s: Schedule, values: Values, parts: Sequence[Sequence[int]]
    ) -> tuple[Schedule, str]:
        """(schedule, the innermost loop of the outer reduction): R R S R S around the sum."""
        stage = s.stages[self.stage]
        count = len(stage.axes)
        spatial, sums = s.loops(self.stage)[:count], s.loops(self.stage)[count:]
        for loop, part in zip(spatial, parts, strict=True):
            s = s.split(self.stage, loop, [part[3], part[4]])
        for loop, axis in zip(sums, stage.reduce_axes, strict=True):
            _, middle, inner = values.get(tile_knob(axis.name), (axis.extent, 1, 1))
            s = s.split(self.stage, loop, [middle, inner])
        level = [[f"{loop}.{n}" for loop in sums] for n in range(3)]
        tile = [[f"{loop}.{n}" for loop in spatial] for n in range(3)]
        s = s.reorder(self.stage, [*level[0], *level[1], *tile[0], *tile[1], *level[2], *tile[2]])
        unrolled = [*tile[0], *tile[1], *tile[2], *level[2]]
        s = s.unroll(self.stage, *unrolled, *(level[1] if values["unroll"] else []))
        return s, level[0][-1]

    def _cached(self, stage: ComputeStage) -> tuple[str, ...]:
        """The tensors to copy to shared memory: all that the stage reads."""
        return tuple(dict.fromkeys(read.tensor.name for read in reads(stage)))

    def _copied(self, s: Schedule, name: str, loop: str, threads: int, layout: Layout) -> Schedule:
        """A copy for every outermost part of the reduction, by all threads of the block."""
        copy = name
        if name not in self.producers:
            s, copy = s.cache_read(name, "shared", [self.stage]), f"{name}.shared"
        s = s.compute_at(copy, self.stage, loop, "shared")
        axes = s.loops(copy)
        s = s.reorder(copy, [axes[dim.axis] for dim in layout.dims])
        s, one = fused(s, copy, [axes[dim.axis] for dim in layout.dims])
        s = s.split(copy, one, [threads])
        return s.bind(copy, f"{one}.1", "threadIdx.x")

    def _held(self, stage: ComputeStage, name: str) -> Expression | int:
        """Elements of a block's copy of what the stage reads."""
        (read, *_) = (one for one in reads(stage) if one.tensor.name == name)
        held: Expression | int = 1
        for one, extent in zip(read.indices, read.tensor.shape, strict=True):
            held = held * _extent(stage, one, extent)
        return held


def _extent(stage: ComputeStage, index: Affine, whole: int) -> Expression | int:
    """How much of an axis a block reads at a time."""
    tiled = {a.var: a for a in (*stage.axes, *stage.reduce_axes)}
    total: Expression | int = 1
    for atom, coefficient in index.terms:
        if not isinstance(atom, Var) or atom not in tiled:
            return whole
        axis = tiled[atom]
        if axis.extent > 1:
            total = total + abs(coefficient) * (Knob(tile_knob(axis.name)).product(1) - 1)
    return total


def _spatial(extent: int) -> list[tuple[int, ...]]:
    """(blocks, virtual threads, threads, outer and inner part of a thread's run)."""
    found: list[tuple[int, ...]] = []
    for inner, third, virtual in itertools.product(_INNER, (1, 2), _VIRTUAL):
        held = inner * third * virtual
        if extent % held == 0:
            found += [
                (extent // held // threads, virtual, threads, third, inner)
                for threads in divisors(extent // held)
                if threads <= _THREADS[1]
            ]
    return found


def _reduction(extent: int) -> list[tuple[int, ...]]:
    """(outer, middle, inner) parts of a reduce axis."""
    return [
        (extent // (middle * inner), middle, inner)
        for inner, middle in itertools.product(_DEPTHS, _DEPTHS)
        if extent % (middle * inner) == 0
    ]


def _largest(options: Sequence[Sequence[Sequence[int]]], level: int) -> int:
    return prod(max(option[level] for option in axis) for axis in options)
