"""The steps that a point of a tiling stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod
from typing import Any

from tilewright_tensor.expressions.buffer import Scope
from tilewright_tensor.expressions.dtype import ITEM_BYTES
from tilewright_tensor.expressions.tensor import Axis
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.schedule.compute_stage import ComputeStage
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.access import reads
from tilewright_tensor.sketches.structure.loops import (
    cached,
    fused,
    memory_nest,
    split_axes,
    vectorized,
)
from tilewright_tensor.sketches.structure.open_nest import OpenNest
from tilewright_tensor.sketches.structure.sketch_input import SketchInput
from tilewright_tensor.sketches.structure.splits import reduction_split, spatial_split

_LINE_BYTES = 64


@dataclass(frozen=True, eq=False)
class TilingShape(OpenNest):
    """A reduction in tiles: what is tiled, and what stores the tiles.

    stage      what reduces
    consumer   the stage of equal shape that stores its tiles, None where it stores them itself
    level      after which spatial level the consumer takes over: 1 or 2; 0 without a consumer
    deep       four spatial levels and two of the reduction, else two and one
    producers  stages that only this one reads, computed before it or for every outer tile
    """

    consumer: str | None
    level: int
    deep: bool = True
    producers: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class TilingSteps:
    """One point of a tiling: the stage as it was, the values and layouts chosen."""

    tiling: TilingShape
    problem: SketchInput
    stage: ComputeStage
    values: Mapping[str, Any]
    layouts: Mapping[str, Layout]

    def apply(
        self,
        s: Schedule,
        packable: Sequence[str],
        streamed: Mapping[str, Axis],
    ) -> Schedule:
        """The stage in its loops, the copies and producers that it reads in theirs."""
        name = self.stage.name
        tiles = [spatial_split(self.values, a) for a in self.stage.axes]
        root = self.tiling.consumer or name
        if self.tiling.consumer is None and name != self.problem.output:
            s = s.transform_layout(name, self.layouts[name].text)
        if self.tiling.level == 2 or (
            self.tiling.level == 0 and all(tile[2] == 1 for tile in tiles)
        ):
            s, kernel = (s, name) if self.tiling.consumer else cached(s, name)
            s, outer, at = self._host(s, root, [(t[1], t[3]) for t in tiles], is_root=True)
            s = s.compute_at(kernel, root, at, "register")
        else:
            outer = ""
            if self.tiling.consumer:
                s, outer = self._storing(s, root, [prod(t[1:]) for t in tiles])
                s = s.compute_at(name, root, outer, "local")
            s, kernel = self._partial(s)
            inner = [t[2:] if self.tiling.consumer else t[1:] for t in tiles]
            s, own, at = self._host(s, name, inner, is_root=not self.tiling.consumer)
            outer = outer or own
            s = s.compute_at(kernel, name, at, "register")
        s = self._kernel(s, kernel)
        for operand, row in streamed.items():
            s = self._streamed(s, kernel, operand, row)
        for operand in packable:
            s = self._packed(s, operand, kernel, root, outer)
        for producer in self.tiling.producers:
            s = self._produced(s, producer, root, outer)
        return s

    def _partial(self, s: Schedule) -> tuple[Schedule, str]:
        """The inner sum as a stage of its own, the stage itself sums over the first outer part."""
        name = self.stage.name
        for axis in self.stage.reduce_axes:
            outer, inner = reduction_split(self.values, axis)
            if outer > 1:
                s = s.split(name, axis.name, [inner])
                return s.rfactor(name, f"{axis.name}.0"), f"{name}.rf"
        return cached(s, name)

    # --- loops ------------------------------------------------------------------------------------

    def _host(
        self, s: Schedule, name: str, factors: Sequence[Sequence[int]], *, is_root: bool
    ) -> tuple[Schedule, str, str]:
        """Loops of the stage that holds register tiles: (schedule, outer loop, the tile's loop)."""
        axes = [axis.name for axis in s.stages[name].axes]
        sums = [loop for loop in s.loops(name) if loop not in axes]
        s, levels = split_axes(s, name, axes, factors)
        *around, tile = ([*level] for level in levels)
        if len(around) > 1:
            around[1] = self._ordered(around[1])
        # the outer reduction is outside the third spatial level
        place = 2 if len(around) == 3 else 1
        flat = [*chain(*around[:place]), *sums, *chain(*around[place:])]
        s = self._tile_loops(s, name, flat, tile)
        if not is_root:
            return s, "", flat[-1]
        s, outer = fused(s, name, around[0])
        return s.parallel(name, outer), outer, outer if flat == around[0] else flat[-1]

    def _storing(self, s: Schedule, name: str, factors: Sequence[int]) -> tuple[Schedule, str]:
        """Loops of a consumer that stores whole outer tiles: (schedule, the outer loop)."""
        axes = [axis.name for axis in s.stages[name].axes]
        s, (around, inner) = split_axes(s, name, axes, [(one,) for one in factors])
        s = s.reorder(name, [*around, *self._vector_last(inner)])
        if self.tiling.vectors.axis is not None:
            s, _ = vectorized(s, name, inner[self.tiling.vectors.axis], self.tiling.vectors.width)
        s, outer = fused(s, name, around)
        return s.parallel(name, outer), outer

    def _kernel(self, s: Schedule, name: str) -> Schedule:
        """The register tile inside its reduction: outer parts, then inner parts, then the tile."""
        stage = s.stages[name]
        count = len(self.stage.axes)
        tile = [axis.name for axis in stage.axes[:count]]
        order = [axis.name for axis in stage.axes[count:]]
        inner: list[tuple[str, int]] = []
        for axis in stage.reduce_axes:
            first, second = reduction_split(self.values, axis)
            if first > 1 and second > 1:
                s = s.split(name, axis.name, [second])
                order.append(f"{axis.name}.0")
                inner.append((f"{axis.name}.1", second))
            elif first > 1:
                order.append(axis.name)
            else:
                inner.append((axis.name, axis.extent))
        unrolled = next((loop for loop, extent in reversed(inner) if extent > 1), None)
        for loop, _ in inner:
            s, step = self._step(s, name, loop)
            order.append(step)
            if loop == unrolled and self.values["unroll"] > 1:
                s = s.split(name, step, [self.values["unroll"]]).unroll(name, f"{step}.1")
                order[-1:] = [f"{step}.0", f"{step}.1"]
        s = self._tile_loops(s, name, order, tile)
        return self._prefetched(s, name, order[-1])

    def _step(self, s: Schedule, name: str, loop: str) -> tuple[Schedule, str]:
        """(schedule, the loop over steps) of an inner sum: terms, one by one."""
        del name
        return s, loop

    def _prefetched(self, s: Schedule, name: str, loop: str) -> Schedule:
        """Constants are fetched ahead of the innermost sum, a line for each vector of the tile."""
        ahead = self.values.get("prefetch_bytes", 0)
        if not ahead or self.tiling.vectors.axis is None:
            return s
        axis = self.stage.axes[self.tiling.vectors.axis]
        tile = spatial_split(self.values, axis)[-1]
        for constant in self.problem.constants:
            if s.stages[name].reads(constant):
                for line in range(0, self._item_bytes(constant) * tile, _LINE_BYTES):
                    s = s.prefetch(name, loop, constant, ahead + line)
        return s

    def _item_bytes(self, operand: str) -> int:
        return next(ITEM_BYTES[t.dtype] for t in self.problem.dag.inputs if t.name == operand)

    def _streamed(self, s: Schedule, name: str, operand: str, row: Axis) -> Schedule:
        """The rows of the next tile are fetched, once and evenly, while this one is summed."""
        if self.values[f"{operand}.prefetch"] == "no":
            return s
        (reduced,) = self.stage.reduce_axes
        rows, unroll = spatial_split(self.values, row)[-1], self.values["unroll"]
        loop = f"{reduced.name}.0" if unroll > 1 else reduced.name
        item, step = self._item_bytes(operand), rows * unroll
        for line in range(0, item * step, _LINE_BYTES):
            s = s.prefetch(name, loop, operand, item * rows * reduced.extent + line, step)
        return s

    def _tile_loops(
        self, s: Schedule, name: str, around: Sequence[str], tile: Sequence[str]
    ) -> Schedule:
        """The innermost tile: its vector axis in vectors, the rest unrolled."""
        s = s.reorder(name, [*around, *self._vector_last(tile)])
        for number, loop in enumerate(tile):
            if number != self.tiling.vectors.axis:
                s = s.unroll(name, loop)
        if self.tiling.vectors.axis is not None:
            s, (whole, _) = vectorized(
                s, name, tile[self.tiling.vectors.axis], self.tiling.vectors.width
            )
            s = s.unroll(name, whole)
        return s

    def _vector_last(self, loops: Sequence[str]) -> list[str]:
        rest = [loop for number, loop in enumerate(loops) if number != self.tiling.vectors.axis]
        return (
            rest if self.tiling.vectors.axis is None else [*rest, loops[self.tiling.vectors.axis]]
        )

    def _ordered(self, loops: Sequence[str]) -> list[str]:
        ordered = self._vector_last(loops)
        if self.tiling.vectors.axis is None or self.values.get("order") == "vectors inside":
            return ordered
        return [ordered[-1], *ordered[:-1]]

    # --- what the kernel reads --------------------------------------------------------------------

    def _packed(self, s: Schedule, name: str, kernel: str, root: str, outer: str) -> Schedule:
        """The operand read from a copy in which vectors lie together."""
        where = self.values[f"{name}.pack"]
        if where == "no":
            return s
        assert self.tiling.vectors.axis is not None
        vector = self.stage.axes[self.tiling.vectors.axis]
        tile = spatial_split(self.values, vector)[-1]
        (read, *_) = (one for one in reads(self.stage) if one.tensor.name == name)
        number = next(d for d, one in enumerate(read.indices) if vector.var in one.variables())
        scope: Scope = "global" if where == "root" else "local"
        s, copy = s.cache_read(name, scope, [kernel]), f"{name}.{scope}"
        # the batch stays outside; panels of the vector axis stand around what is summed over
        letters = Layout.logical(len(read.indices)).letters
        letter, rest = letters[number], letters[:number] + letters[number + 1 :]
        layout = Layout.parse(f"{rest[:-1]}{letter}{rest[-1:]}{tile}{letter.lower()}")
        s = s.transform_layout(copy, layout.text)
        if where == "root":
            return memory_nest(s, copy, layout, self.problem.limits.lanes)
        loops = [*s.loops(copy)]
        s, parts = vectorized(s, copy, loops.pop(number), tile)
        s = s.reorder(copy, [parts[0], *loops, parts[1]])
        return s.compute_at(copy, root, outer, "local")

    def _produced(self, s: Schedule, name: str, root: str, outer: str) -> Schedule:
        """A producer before everything else, or as much of it as an outer tile reads."""
        layout, lanes = self.layouts[name], self.problem.limits.lanes
        if self.values[f"{name}.at"] == "root":
            if layout.text != Layout.logical(layout.rank).text:
                s = s.transform_layout(name, layout.text)
            return memory_nest(s, name, layout, lanes)
        s = s.compute_at(name, root, outer, "local")
        innermost = layout.dims[-1].axis
        loops = [*s.loops(name)]
        s, parts = vectorized(s, name, loops.pop(innermost), lanes)
        blocked = layout.blocks[innermost] > 1
        return s.reorder(name, [parts[0], *loops, parts[1]] if blocked else [*loops, *parts])
