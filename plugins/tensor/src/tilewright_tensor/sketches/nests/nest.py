"""Stages that are not tiled: each in a nest of its own, or together, row by row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from tilewright.space.knobs import Knobs
from tilewright_tensor.expressions.dtype import ITEM_BYTES
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.schedule.compute_stage import ComputeStage
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.nests.nest_steps import NestSteps, Row
from tilewright_tensor.sketches.structure.access import readers, reads, single_var, stride
from tilewright_tensor.sketches.structure.open_nest import OpenNest, Values, foreign_layouts
from tilewright_tensor.sketches.structure.sketch_input import SketchInput

_PARTIALS = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Factored:
    """A reduction in partial results: lanes of vectors, and before that parts for threads."""

    stage: str
    axis: str
    in_parts: bool


@dataclass(frozen=True, eq=False)
class Nest(OpenNest):
    """A stage and the producers that no rule inlined or tiled.

    stage     what stores the result
    members   its producers, direct and indirect, consumers first
    factored  those of all these that reduce by partial results
    """

    members: tuple[str, ...] = ()
    factored: tuple[Factored, ...] = ()

    def joined_by(self, member: str, factored: Factored | None) -> Nest:
        """With one more producer."""
        more = (factored,) if factored else ()
        return replace(self, members=(*self.members, member), factored=(*self.factored, *more))

    def without(self, name: str) -> Nest | None:
        """The plan without a stage that another plan covers; None where that was the only one."""
        left = [one for one in (self.stage, *self.members) if one != name]
        return replace(self, stage=left[0], members=tuple(left[1:])) if left else None

    # --- knobs ------------------------------------------------------------------------------------

    def declare(self, problem: SketchInput, schedule: Schedule, knobs: Knobs) -> None:
        """Where producers are computed, lanes of each innermost loop, partial results."""
        if self.members:
            knobs.define_knob("at", ["rows", "root"] if self._fits(problem, schedule) else ["root"])
        for name in (self.stage, *self.members):
            stage = schedule.stages[name]
            if one := self._factored(name):
                extent = _extent(stage, one.axis)
                most = -(-extent // problem.limits.lanes)
                knobs.define_knob(f"{name}.partials", [n for n in _PARTIALS if n == 1 or n <= most])
                if one.in_parts:
                    parts = problem.limits.threads
                    knobs.define_knob(f"{name}.parts", sorted({parts, 4 * parts, 16 * parts}))
            elif stage.axes:
                knobs.define_knob(f"{name}.vectors", [0, 1, 2, 4])

    def cost(self, problem: SketchInput, schedule: Schedule, values: Values) -> float:
        """A guess for a choice without measurement.

        Logical layouts, which fit most neighbours; producers by rows unless these are no vectors,
        as where they are transposed; two vectors a step.
        """
        wrong = "rows" if self.members and self._is_scalar(schedule) else "root"
        apart = values.get("at") == wrong
        steps = [int(v) for name, v in values.items() if name.endswith((".vectors", ".partials"))]
        return 2.0 * foreign_layouts(values) + apart + 0.01 * sum(abs(step - 2) for step in steps)

    def _is_scalar(self, schedule: Schedule) -> bool:
        """Whether a stage gathers what it reads, lane by lane."""
        stages = [schedule.stages[name] for name in (self.stage, *self.members)]
        return any(self._factored(one.name) is None and not _in_vectors(one) for one in stages)

    def _factored(self, name: str) -> Factored | None:
        return next((one for one in self.factored if one.stage == name), None)

    def _fits(self, problem: SketchInput, schedule: Schedule) -> bool:
        """Whether what a row needs stays in the cache."""
        if any(one.in_parts for one in self.factored):
            return False
        rows, names = self._rows(schedule), {self.stage, *self.members}
        if any(not names.issuperset(readers(schedule, name)) for name in self.members):
            return False
        stages = (schedule.stages[name] for name in self.members)
        held = sum(prod(stage.shape[rows:]) * ITEM_BYTES[stage.dtype] for stage in stages)
        return rows > 0 and held <= problem.limits.cache_bytes

    def _rows(self, schedule: Schedule) -> int:
        """Leading axes that all stages share: what varies along them never meets."""
        rows = len(schedule.stages[self.stage].axes)
        names = (self.stage, *self.members)
        for name in names:
            stage = schedule.stages[name]
            for read in reads(stage):
                if read.tensor.name not in self.members:
                    continue
                same = 0
                for axis, one in zip(stage.axes, read.indices, strict=False):
                    if single_var(one) != axis.var or one.constant:
                        break
                    same += 1
                rows = min(rows, same)
        return rows

    def apply(
        self, problem: SketchInput, s: Schedule, values: Values, layouts: Mapping[str, Layout]
    ) -> Schedule:
        """Every stage in its loops."""
        rows = self._rows(s) if values.get("at") == "rows" else None
        steps = NestSteps(problem, values, layouts, rows)
        row: Row = None
        for name in (self.stage, *self.members):
            if one := self._factored(name):
                s = steps.factored(s, name, one.axis, row, in_parts=one.in_parts)
            else:
                s, row = steps.plain(s, name, row)
        return s


def _in_vectors(stage: ComputeStage) -> bool:
    """Whether all that is read lies together along the last axis, or stays where it is."""
    return all(
        stride(read, axis.var, Layout.logical(len(read.indices)), axis.extent) in (0, 1)
        for axis in stage.axes[-1:]
        for read in reads(stage)
    )


def factored_axis(stage: ComputeStage) -> str | None:
    """The reduce axis along which what is read lies together, where one does."""
    for axis in stage.reduce_axes:
        steps = [
            stride(read, axis.var, Layout.logical(len(read.indices)), axis.extent)
            for read in reads(stage)
        ]
        if 1 in steps and all(step in (0, 1) for step in steps):
            return axis.name
    return None


def _extent(stage: ComputeStage, name: str) -> int:
    return next(a.extent for a in (*stage.axes, *stage.reduce_axes) if a.name == name)
