"""The steps that a point of a nest stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tilewright_tensor.expressions.tensor import Axis
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.schedule.compute_stage import ComputeStage
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.access import reads, stride
from tilewright_tensor.sketches.structure.loops import fused, memory_nest, vectorized
from tilewright_tensor.sketches.structure.sketch_input import SketchInput

Row = tuple[str, str] | None
"""(stage, loop) inside which producers are computed."""


@dataclass(frozen=True, eq=False)
class NestSteps:
    """One point; `rows` is the number of axes that all stages share, None for nests apart."""

    problem: SketchInput
    values: Mapping[str, Any]
    layouts: Mapping[str, Layout]
    rows: int | None

    def plain(self, s: Schedule, name: str, row: Row) -> tuple[Schedule, Row]:
        """A stage as it is: (schedule, where its producers are computed)."""
        width = self.problem.limits.lanes * self.values.get(f"{name}.vectors", 1)
        if self.rows is None and s.stages[name].combiner is None:
            return memory_nest(s, name, self.layouts[name], width or 1), None
        s, own = self._nest(s, name, row)
        stage = s.stages[name]
        around = len(stage.axes) if self.rows is None else self.rows
        if width and around < len(stage.axes) and self._lies_together(stage, stage.axes[-1]):
            s, _ = vectorized(s, name, stage.axes[-1].name, width)
        return s, row or (None if self.rows is None else own)

    def factored(self, s: Schedule, name: str, axis: str, row: Row, *, in_parts: bool) -> Schedule:
        """The sum of lanes of sums: vectors of partial results stay in registers."""
        lanes, count = self.problem.limits.lanes, self.values[f"{name}.partials"]
        if in_parts:
            extent = next(a.extent for a in s.stages[name].reduce_axes if a.name == axis)
            parts = min(self.values[f"{name}.parts"], extent)
            s = s.split(name, axis, [-(-extent // parts)]).rfactor(name, f"{axis}.0")
            s, _ = self._nest(s, name, None)
            name, axis = f"{name}.rf", f"{axis}.1"
        s = s.split(name, axis, [count, lanes]).rfactor(name, f"{axis}.2")
        partials = [f"{name}.rf"]
        if count > 1:
            s = s.rfactor(partials[0], f"{axis}.1")
            partials.append(f"{name}.rf.rf")
        s, own = self._nest(s, name, row)
        s = s.unroll(name, f"{axis}.2")
        place, lane = row or own, f"{axis}.2"
        for partial in partials:
            stage = s.stages[partial]
            sums = [a.name for a in stage.reduce_axes]
            beside = [a.name for a in stage.axes if a.name != lane]
            s = s.reorder(partial, [*sums, *beside, lane]).vectorize(partial, lane)
            s = s.unroll(partial, f"{axis}.1") if count > 1 else s
            s = s.compute_at(partial, *place, "register") if place else s
        return s

    def _nest(self, s: Schedule, name: str, row: Row) -> tuple[Schedule, Row]:
        """The stage in a row, or in parallel loops of its own: (schedule, the last of these)."""
        own = [axis.name for axis in s.stages[name].axes]
        around = own if self.rows is None else own[: self.rows]
        sums = [loop for loop in s.loops(name) if loop not in own]
        s = s.reorder(name, [*around, *sums, *own[len(around) :]])
        if row:
            return s.compute_at(name, *row, "local"), None
        if not around:
            return s, None
        s, loop = fused(s, name, around)
        return s.parallel(name, loop), (name, loop)

    def _lies_together(self, stage: ComputeStage, axis: Axis) -> bool:
        """Whether reads go element by element along the axis, or stay where they are."""
        return all(
            stride(read, axis.var, self.layouts[read.tensor.name], axis.extent) in (0, 1)
            for read in reads(stage)
        )
