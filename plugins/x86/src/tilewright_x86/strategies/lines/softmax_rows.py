"""Softmax over the last axis: a row stays in the cache from its maximum to its result."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import fused
from tilewright_tensor.strategies.scheduled_implementation import (
    ScheduledImplementation,
    computes_in_float32,
    constants,
)
from tilewright_x86.strategies.tiles.vector_blocks import lanes


class SoftmaxRows(ScheduledImplementation):
    """Softmax along rows."""

    name = "softmax_rows.x86"

    def applies(self, task: Task) -> bool:
        """Floats of at most 32 bits, over the last of at least two axes, with no epilogue."""
        rank = len(task.workload.inputs[0].shape)
        axis = task.workload.attributes["axis"] % rank
        return (
            computes_in_float32(task)
            and rank >= 2
            and axis == rank - 1
            and not task.workload.epilogue
        )

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """How many partial maxima and sums there are."""
        knobs = Knobs(self.name)
        knobs.define_knob("partials", [lanes(task), 2 * lanes(task), 4 * lanes(task)])
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """One vector of partial results."""
        return ConfigEntity(self.name, {"partials": lanes(task)})

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Logical throughout."""
        text = Layout.logical(len(task.workload.inputs[0].shape)).text
        return Layouts((text,), (text,), constants(task))

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """Rows in parallel; inside, both reductions by partial results.

        The rewriting is rfactor of Suriana et al. (CGO 2017).
        """
        s, final = schedule, "softmax"
        *rows, last = s.loops(final)
        s, row = fused(s, final, rows)
        s = s.parallel(final, row).split(final, last, [lanes(task)]).vectorize(final, f"{last}.1")
        for stage in ("softmax_max", "softmax_sum"):
            s = s.split(stage, "k", [config["partials"]]).rfactor(stage, "k.1")
            partial = f"{stage}.rf"
            *_, sum_loop = s.loops(partial)
            lane = s.loops(partial)[-2]
            s = s.reorder(partial, [sum_loop, lane]).vectorize(partial, lane)
            s = s.compute_at(partial, final, row, "local").compute_at(stage, final, row, "local")
        *_, last = s.loops("softmax_exp")
        s = s.split("softmax_exp", last, [lanes(task)]).vectorize("softmax_exp", f"{last}.1")
        return s.compute_at("softmax_exp", final, row, "local")


make = SoftmaxRows
