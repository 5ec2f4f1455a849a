"""Multi-level tiling: the open choices of a tiled reduction.

The structure is Ansor's SSRSRS: spatial axes in four parts, reduce axes in two, level by level.
What differs is that the innermost tile is a stage of scope `register`: it accumulates in registers
over the inner reduction, and only its result is added to what the outer reduction has so far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar, Self

from tilewright.space.feasible.constraint import Expression, Knob, as_expression
from tilewright.space.knobs import Knobs
from tilewright_tensor.expressions.affine import Affine, Atom, FloorDiv, Var
from tilewright_tensor.expressions.dtype import ITEM_BYTES
from tilewright_tensor.expressions.tensor import Axis, Tensor
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.schedule.compute_stage import ComputeStage
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.nests.packed_constants import packed_layout
from tilewright_tensor.sketches.nests.tiling_steps import TilingShape, TilingSteps
from tilewright_tensor.sketches.structure.access import reads
from tilewright_tensor.sketches.structure.open_nest import Values, foreign_layouts
from tilewright_tensor.sketches.structure.sketch_input import SketchInput
from tilewright_tensor.sketches.structure.splits import (
    define_splits,
    product,
    reduction_splits,
    spatial_split,
    spatial_splits,
    tile_knob,
)
from tilewright_tensor.sketches.structure.vectors import is_broadcast

_FEWEST_ACCUMULATORS = 6
_MOST_PER_BODY = 128
_NEAR_BYTES = 32 * 1024
"""The smallest first-level cache of today's cores."""
_ROWS_PER_COPY = 128
"""How often what is copied for a tile should be read, or the copies cost as much as the work."""


@dataclass(frozen=True, eq=False)
class Tiling(TilingShape):
    """A reduction in tiles, its choices and its steps.

    places  where producers may be computed: before everything else, or for every outer tile
    """

    places: ClassVar[Sequence[str]] = ("root", "tile")

    def without(self, name: str) -> Self:
        """The plan without a producer that another plan covers."""
        return replace(self, producers=tuple(one for one in self.producers if one != name))

    def declare(self, problem: SketchInput, schedule: Schedule, knobs: Knobs) -> None:
        """The tile of every axis, the order of the loops, unrolling, and what is packed where."""
        stage, unroll = schedule.stages[self.stage], (1, 2, 4, 8)
        wide = [axis for axis in stage.axes if axis.extent > 1]
        sizes = [self._declare_spatial(stage, axis, knobs) for axis in wide]
        for axis in stage.reduce_axes:
            splits = self._reductions(stage, axis)
            if len(splits) > 1:
                define_splits(knobs, axis, splits)
        knobs.define_knob("unroll", unroll)
        if len(wide) > 1:
            knobs.define_knob("order", ["vectors outside", "vectors inside"])
        if wide:
            self._constrain_registers(problem, stage, wide, sizes, knobs)
            self._constrain_outer(problem, stage, wide, knobs)
        for name in self.packable(problem, stage):
            self._declare_pack(problem, stage, name, knobs)
        for name in self.producers:
            apart = knobs.define_knob(f"{name}.at", self.places) != "tile"
            knobs.constrain(apart | (self._held(stage, name) <= problem.limits.cache_bytes))
        if any(name in problem.constants for name in _names(stage)):
            knobs.define_knob("prefetch_bytes", [0, 2048, 4096])
        for name, row in self.streamed(problem, stage).items():
            prefetch = knobs.define_knob(f"{name}.prefetch", ["no", "rows"])
            in_turn = (Knob("order") == "vectors outside") & (Knob(tile_knob(row.name))[1] > 1)
            knobs.constrain((prefetch == "no") | in_turn)
        self._constrain_blocks(stage, knobs)

    def apply(
        self, problem: SketchInput, s: Schedule, values: Values, layouts: Mapping[str, Layout]
    ) -> Schedule:
        """The schedule with the stage, its consumer and its producers in their loops."""
        stage = s.stages[self.stage]
        steps = TilingSteps(self, problem, stage, values, layouts)
        copied, streamed = self.packable(problem, stage), self.streamed(problem, stage)
        return steps.apply(s, copied, streamed)

    def operand_layout(
        self, problem: SketchInput, schedule: Schedule, name: str, values: Values
    ) -> str | None:
        """A constant's layout in the order in which the kernel reads it."""
        if name not in problem.constants:
            return None
        stage = schedule.stages[self.stage]
        return packed_layout(stage, name, problem.constants[name], self.vectors, values)

    def cost(self, problem: SketchInput, schedule: Schedule, values: Values) -> float:
        """A guess for a choice without measurement.

        What a multiply-add loads, idle lanes and threads, how many rows in turn read the same
        vectors, what has to be moved or written first, and what is not fetched ahead. Vectors that
        come from beyond the first-level cache for every tile count twice. By these weights the
        choices for transformers' products were the fastest of those tried, by AVX-512 and AVX2 on
        x86; those for few terms (normalisation over channels, depthwise) follow from the passes.
        """
        stage = schedule.stages[self.stage]
        rows, vectors, turns, outer, waste, panel = 1, 1, 1, 1, 1.0, 0
        terms = prod(reduced.extent for reduced in stage.reduce_axes)
        for number, axis in enumerate(stage.axes):
            tile = spatial_split(values, axis)
            if number == self.vectors.axis:
                vectors = -(-tile[-1] // self.vectors.width)
                panel = tile[-1] * ITEM_BYTES[stage.dtype] * terms
            else:
                rows *= tile[-1]
                turns *= tile[1] * tile[2] if values.get("order") == "vectors outside" else tile[2]
            outer *= tile[0]
            waste *= prod(tile) / axis.extent
        threads = problem.limits.threads
        waste *= -(-outer // threads) * threads / outer
        waste *= 1 + (2 - self.level) * self.deep
        moved = sum(1 for name, value in values.items() if name.endswith(".pack") and value == "no")
        loads = (2 if panel > _NEAR_BYTES else 1) / rows + 1 / vectors
        waits = sum(1 for name, v in values.items() if name.endswith(".prefetch") and v == "no")
        apart = sum(1 for name in self.producers if values[f"{name}.at"] == "root")
        passes = 2 * apart / terms  # what is written as a whole and read again, a multiply-add
        moved += foreign_layouts(values)  # neighbours have to move what lies otherwise
        cold = values.get("prefetch_bytes") == 0
        extras = passes + 0.2 * moved + 2.4 / (rows * turns) + 0.05 * waits + 0.15 * cold
        return float(waste * (1 + loads) + extras + 0.02 * values["unroll"])

    def packable(self, problem: SketchInput, stage: ComputeStage) -> tuple[str, ...]:
        """Activations with the vector axis that may be copied together, by tile or as a whole."""
        if self.vectors.axis is None or not self.deep:
            return ()
        var = stage.axes[self.vectors.axis].var
        return tuple(
            name
            for name in _names(stage)
            if name in problem.activations
            and name not in self.vectors.images
            and not is_broadcast(stage, name, var)
        )

    def streamed(self, problem: SketchInput, stage: ComputeStage) -> dict[str, Axis]:
        """Activations beyond the cache of which every tile reads whole rows, and their row axes.

        The next tile's rows can be fetched ahead: the processor itself stops at the end of a page.
        """
        if self.vectors.axis is None or self.level != 2 or len(stage.reduce_axes) != 1:
            return {}
        (reduced,), vector = stage.reduce_axes, stage.axes[self.vectors.axis]
        rows = {axis.var.affine(): axis for axis in stage.axes if axis.extent > 1}
        return {
            read.tensor.name: rows[read.indices[-2]]
            for read in reads(stage)
            if read.tensor.name in problem.activations
            and _bytes(read.tensor) > 2 * problem.limits.cache_bytes
            and len(read.indices) > 1
            and read.tensor.shape[-1] == reduced.extent > 1
            and read.indices[-1] == reduced.var.affine()
            and read.indices[-2] in rows
            and is_broadcast(stage, read.tensor.name, vector.var)
        }

    # --- knobs and what ties them -----------------------------------------------------------------

    def _declare_spatial(self, stage: ComputeStage, axis: Axis, knobs: Knobs) -> set[int]:
        """Declare the tile of an axis: (the register tiles there are, in vectors on their axis)."""
        unit = self._unit(stage, axis)
        reused = any(is_broadcast(stage, name, axis.var) for name in _names(stage))
        options = spatial_splits(
            self._extent(stage, axis), unit, middle=self.deep and self.level < 2,
            tiled=not self.deep or reused or self._is_vector(stage, axis),
        )  # fmt: skip
        define_splits(knobs, axis, options)
        return {-(-one[-1] // unit) for one in options}

    def _extent(self, stage: ComputeStage, axis: Axis) -> int:
        """What the tiles of a spatial axis have to cover, and may not exceed."""
        del stage
        return axis.extent

    def _reductions(self, stage: ComputeStage, axis: Axis) -> Sequence[tuple[int, int]]:
        """How a reduce axis may be cut."""
        cut = self._cuts(stage) or axis.name == self._blocked_axis(stage)
        return reduction_splits(axis.extent, whole=not cut)

    def _constrain_registers(
        self,
        problem: SketchInput,
        stage: ComputeStage,
        wide: Sequence[Axis],
        sizes: Sequence[set[int]],
        knobs: Knobs,
    ) -> None:
        """Accumulators, vectors and a broadcast fit; there are enough to hide the latency."""
        counts = {axis.name: self._register_tile(stage, axis) for axis in wide}
        held = [counts[axis.name] for axis in wide if self._is_vector(stage, axis)]
        accumulators = product(list(counts.values()))
        limit = problem.limits.registers - 1
        knobs.constrain(accumulators + (held[0] if held else 1) + 1 <= limit)
        most = _largest_product(sizes, limit - 2)
        knobs.constrain(accumulators >= min(_FEWEST_ACCUMULATORS, most))
        knobs.constrain(accumulators * Knob("unroll") <= _MOST_PER_BODY)

    def _constrain_outer(
        self, problem: SketchInput, stage: ComputeStage, wide: Sequence[Axis], knobs: Knobs
    ) -> None:
        """As many outer tiles as threads; where they are kept, they fit in the cache."""
        tiles = [Knob(tile_knob(axis.name)) for axis in wide]
        if problem.limits.threads > 1:
            knobs.constrain(product([tile[0] for tile in tiles]) >= problem.limits.threads)
        if self.level == 1:
            held = product([tile.product(1) for tile in tiles])
            knobs.constrain(held * ITEM_BYTES[stage.dtype] <= problem.limits.cache_bytes)

    def _declare_pack(
        self, problem: SketchInput, stage: ComputeStage, name: str, knobs: Knobs
    ) -> None:
        """A copy for every outer tile fits in the cache and is read often enough."""
        (read, *_) = (one for one in reads(stage) if one.tensor.name == name)
        again = [a for a in stage.axes if a.extent > 1 and is_broadcast(stage, name, a.var)]
        often = prod(axis.extent for axis in again)
        # rows far apart, read from beyond the cache again and again: never as good as a copy
        far = _bytes(read.tensor) > problem.limits.cache_bytes
        where = ["tile", "root"] if far and often >= _ROWS_PER_COPY else ["no", "tile", "root"]
        apart = knobs.define_knob(f"{name}.pack", where) != "tile"
        knobs.constrain(apart | (self._held(stage, name) <= problem.limits.cache_bytes))
        if again:
            rows = product([Knob(tile_knob(axis.name)).product(1) for axis in again])
            knobs.constrain(apart | (rows >= min(_ROWS_PER_COPY, often)))

    def _held(self, stage: ComputeStage, name: str) -> Expression:
        """Bytes of an operand that an outer tile reads."""
        (read, *_) = (one for one in reads(stage) if one.tensor.name == name)
        wide = [axis for axis in stage.axes if axis.extent > 1]
        tiles = {axis.var: Knob(tile_knob(axis.name)).product(1) for axis in wide}
        sums = {axis.var: axis.extent for axis in stage.reduce_axes}
        held = as_expression(ITEM_BYTES[read.tensor.dtype])
        for one, extent in zip(read.indices, read.tensor.shape, strict=True):
            held = held * _span(one, {**tiles, **sums}, extent)
        return held

    def _blocked_axis(self, stage: ComputeStage) -> str | None:
        """The reduce axis that runs over the channels of an image, where that may be in blocks."""
        texts = {text for choice in self.vectors.choices for text in choice[:-1]}
        if all(max(Layout.parse(text).blocks) == 1 for text in texts):
            return None
        for read in reads(stage):
            if read.tensor.name in {*self.vectors.images, *self.producers}:
                for axis in stage.reduce_axes:
                    if axis.extent > 1 and read.indices[1].terms == ((axis.var, 1),):
                        return axis.name
        return None

    def _constrain_blocks(self, stage: ComputeStage, knobs: Knobs) -> None:
        """Where channels are in blocks, the inner reduction runs over a block."""
        axis = self._blocked_axis(stage)
        for text in dict.fromkeys(choice[0] for choice in self.vectors.choices):
            block = Layout.parse(text).blocks[1] if axis else 1
            if axis and block > 1:
                inner = Knob(tile_knob(axis))[-1]
                knobs.constrain((Knob("layouts")[0] != text) | (inner == block))

    def _cuts(self, stage: ComputeStage) -> bool:
        """Whether cutting reduce axes changes the order among several, or what is kept."""
        several = sum(1 for axis in stage.reduce_axes if axis.extent > 1) > 1
        return self.deep and (self.level < 2 or several)

    def _register_tile(self, stage: ComputeStage, axis: Axis) -> Expression:
        unit = self._unit(stage, axis)
        inner = Knob(tile_knob(axis.name))[-1]
        return (inner + (unit - 1)) // unit if unit > 1 else inner

    def _unit(self, stage: ComputeStage, axis: Axis) -> int:
        return self.vectors.width if self._is_vector(stage, axis) else 1

    def _is_vector(self, stage: ComputeStage, axis: Axis) -> bool:
        return self.vectors.axis is not None and stage.axes[self.vectors.axis] is axis


def _names(stage: ComputeStage) -> tuple[str, ...]:
    """Names of what the stage reads."""
    return tuple(dict.fromkeys(read.tensor.name for read in reads(stage)))


def _span(index: Affine, sizes: Mapping[Var, Expression | int], extent: int) -> Expression | int:
    """How many values an index of a tensor takes where its variables take so many, else 1.

    All of the extent where that depends on no tile, or is no sum of variables and quotients of one.
    """
    counts = [(_count(atom, sizes), abs(by)) for atom, by in index.terms]
    known = [(count, by) for count, by in counts if count is not None]
    if len(known) < len(counts) or not any(isinstance(count, Expression) for count, _ in known):
        return extent
    if len(known) == 1 and known[0][1] == 1:
        return known[0][0]
    return sum((by * (count - 1) for count, by in known), start=as_expression(1))


def _count(atom: Atom, sizes: Mapping[Var, Expression | int]) -> Expression | int | None:
    """How many values a part of an index takes, None where nobody says."""
    if isinstance(atom, Var):
        return sizes.get(atom, 1)
    if isinstance(atom, FloorDiv) and len(atom.value.terms) == 1:
        ((inside, by),) = atom.value.terms
        if isinstance(inside, Var) and by == 1:  # a group, or an operand's share of a batch
            return (sizes.get(inside, 1) + (atom.divisor - 1)) // atom.divisor
    return None


def _bytes(tensor: Tensor) -> int:
    return prod(tensor.shape) * ITEM_BYTES[tensor.dtype]


def _largest_product(sizes: Sequence[set[int]], limit: int) -> int:
    """The largest product of one size of each that is within the limit."""
    reachable = {1}
    for options in sizes:
        reachable = {a * b for a in reachable for b in options if a * b <= limit}
    return max(reachable, default=1)
