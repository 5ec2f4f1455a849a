"""Sums against small constant tensors, such as Winograd's transforms: the constants' axes unrolled.

What Ansor does for operators that carry `auto_scheduler_simplify_const_tensor_indices`; here no
mark is needed. A constant tensor is a stage that reads nothing. Once the axes that index it are
unrolled, each of its elements is a number in the code, and terms with a zero are none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from tilewright.space.entities.split import divisors
from tilewright.space.knobs import Knobs
from tilewright_tensor.expressions.tensor import Axis
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.schedule.compute_stage import ComputeStage
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.access import reads
from tilewright_tensor.sketches.structure.loops import cached, fused, vectorized
from tilewright_tensor.sketches.structure.open_nest import OpenNest, Values
from tilewright_tensor.sketches.structure.sketch_input import SketchInput
from tilewright_tensor.sketches.structure.splits import define_splits, product, tile_knob

_MOST_TERMS = 2048
_MOST_INNER = 8


@dataclass(frozen=True, eq=False)
class Unrolled(OpenNest):
    """A sum of which some axes are unrolled; the others are in two levels, vectors innermost.

    constant_axes  names of the axes, reduce axes too, that index constant tensors
    """

    constant_axes: frozenset[str]

    def declare(self, problem: SketchInput, schedule: Schedule, knobs: Knobs) -> None:
        """The inner part of every axis that is not unrolled."""
        stage, inner = schedule.stages[self.stage], []
        for axis in self._free(stage):
            unit = self._unit(stage, axis)
            whole = -(-axis.extent // unit)
            parts = [n for n in divisors(whole) if n <= _MOST_INNER]
            splits = [(whole // n, min(n * unit, axis.extent)) for n in parts]
            inner.append(define_splits(knobs, axis, splits))
        if problem.limits.threads > 1:
            knobs.constrain(product([tile[0] for tile in inner]) >= problem.limits.threads)

    def cost(self, problem: SketchInput, schedule: Schedule, values: Values) -> float:
        """A guess for a choice without measurement: few elements at a time."""
        tiles = (values[tile_knob(axis.name)] for axis in self._free(schedule.stages[self.stage]))
        return 0.01 * float(prod(tile[-1] for tile in tiles))

    def apply(
        self, problem: SketchInput, s: Schedule, values: Values, layouts: Mapping[str, Layout]
    ) -> Schedule:
        """Outer loops in parallel, inner loops, then everything that is unrolled in registers."""
        name, stage = self.stage, s.stages[self.stage]
        if name != problem.output:
            s = s.transform_layout(name, layouts[name].text)
        s, total = cached(s, name)
        free = [axis.name for axis in self._free(stage)]
        unrolled = [axis.name for axis in stage.axes if axis.name not in free]
        for axis in free:
            s = s.split(name, axis, [values[tile_knob(axis)][-1]])
        outer, inner = [f"{axis}.0" for axis in free], [f"{axis}.1" for axis in free]
        lanes: list[str] = []
        if (vector := self._vector_axis(stage)) is not None:
            s, parts = vectorized(s, name, f"{vector.name}.1", self.vectors.width)
            inner.remove(f"{vector.name}.1")
            inner.append(parts[0])
            lanes = [parts[1]]
        s = s.reorder(name, [*outer, *inner, *unrolled, *lanes])
        s = s.unroll(name, *unrolled).compute_at(total, name, inner[-1], "register")
        s, around = fused(s, name, outer)
        return self._summed(s.parallel(name, around), total, free, unrolled)

    def _summed(self, s: Schedule, total: str, free: list[str], unrolled: list[str]) -> Schedule:
        """The loops of one element of the free axes, or of a vector of them."""
        stage = s.stages[total]
        sums = [axis.name for axis in stage.reduce_axes]
        rolled = [loop for loop in sums if loop not in self.constant_axes]
        steps = [loop for loop in sums if loop in self.constant_axes]
        axis = self._vector_axis(stage)
        single = [loop for loop in free if axis is None or loop != axis.name]
        lanes: list[str] = []
        if axis is not None:
            s, parts = vectorized(s, total, axis.name, self.vectors.width)
            single.append(parts[0])
            lanes = [parts[1]]
        s = s.reorder(total, [*rolled, *steps, *single, *unrolled, *lanes])
        return s.unroll(total, *steps, *unrolled)

    def _free(self, stage: ComputeStage) -> list[Axis]:
        return [a for a in stage.axes if a.name not in self.constant_axes and a.extent > 1]

    def _vector_axis(self, stage: ComputeStage) -> Axis | None:
        axis = None if self.vectors.axis is None else stage.axes[self.vectors.axis]
        return None if axis is None or axis.name in self.constant_axes else axis

    def _unit(self, stage: ComputeStage, axis: Axis) -> int:
        vector = self._vector_axis(stage)
        return self.vectors.width if vector is not None and vector.name == axis.name else 1


def constant_tensors(schedule: Schedule, stage: ComputeStage) -> tuple[str, ...]:
    """The stages that a stage reads and that read nothing themselves."""
    names = dict.fromkeys(read.tensor.name for read in reads(stage))
    return tuple(name for name in names if name in schedule.stages and is_constant(schedule, name))


def is_constant(schedule: Schedule, name: str) -> bool:
    """Whether a stage's elements follow from their indexes alone."""
    stage = schedule.stages[name]
    return stage.combiner is None and not reads(stage)


def constant_axes(schedule: Schedule, stage: ComputeStage) -> frozenset[str]:
    """Names of the axes that index constant tensors.

    Empty where unrolling them leaves no loop, or is too much code.
    """
    constants = constant_tensors(schedule, stage)
    variables = {
        var
        for read in reads(stage)
        if read.tensor.name in constants
        for one in read.indices
        for var in one.variables()
    }
    found = [axis for axis in (*stage.axes, *stage.reduce_axes) if axis.var in variables]
    loops = [axis for axis in stage.axes if axis.var not in variables and axis.extent > 1]
    if not loops or prod(axis.extent for axis in found) > _MOST_TERMS:
        return frozenset()
    return frozenset(axis.name for axis in found)
