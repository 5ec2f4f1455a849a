"""Transposes: moved, or as they lie, for who reads them so, as attention does."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.operators.definition.order_of_axes import order_of_axes
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import fused
from tilewright_tensor.strategies.scheduled_implementation import (
    ScheduledImplementation,
    constants,
    is_float32,
)
from tilewright_x86.strategies.tiles.stored_formats import rounds_natively
from tilewright_x86.strategies.tiles.vector_blocks import lanes


class Transpose(ScheduledImplementation):
    """Transposes; one knob says whether elements move. Where they do not, a network copies none."""

    name = "transpose.x86"
    stored = ""

    def applies(self, task: Task) -> bool:
        """float32 of at least two axes, with no epilogue."""
        several = len(task.workload.inputs[0].shape) > 1
        return several and is_float32(task) and not task.workload.epilogue

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """Whether the result is in logical order or in that of its operand."""
        knobs = Knobs(self.name)
        knobs.define_knob("order", ["result", "operand"])
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity | None:
        """None: what moves elements is found by derived schedules as well."""
        return None

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """The operand in logical order."""
        source = Layout.logical(len(task.workload.inputs[0].shape)).stored_as(self.stored)
        result = source if config["order"] == "result" else source.turned(self._order(task))
        return Layouts((source.text,), (result.text,), constants(task))

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """One nest in the order in which the result lies, in vectors."""
        (final,) = (tensor.name for tensor in schedule.dag.outputs)
        loops = list(schedule.loops(final))
        if config["order"] == "operand":
            loops = [loops[self._order(task).index(axis)] for axis in range(len(loops))]
        *around, last = loops
        s = schedule.split(final, last, [lanes(task)])
        inner = [f"{last}.0", f"{last}.1"]
        s, one = fused(s.reorder(final, [*around, *inner]), final, around)
        return s.parallel(final, one).vectorize(final, inner[1])

    def _order(self, task: Task) -> tuple[int, ...]:
        workload = task.workload
        definition = self.operators.find(workload.operator)
        order = order_of_axes(definition, workload.inputs, workload.attributes)
        assert order is not None
        return order


class TransposeBfloat16(Transpose):
    """Transposes of what is stored as bfloat16."""

    name = "transpose_bf16.x86"
    stored = "bfloat16"

    def applies(self, task: Task) -> bool:
        """As in float32, where the processor rounds to bfloat16."""
        return rounds_natively(task) and super().applies(task)

    def fallback(self, task: Task) -> ConfigEntity | None:
        """In logical order, as every reader can have it."""
        return ConfigEntity(self.name, {"order": "result"})


make, transpose = Transpose, TransposeBfloat16
