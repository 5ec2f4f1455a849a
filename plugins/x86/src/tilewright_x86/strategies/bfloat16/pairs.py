"""Second operands of products, put in pairs of terms: what attention multiplies with."""

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
    constants,
    is_float32,
)
from tilewright_x86.strategies.tiles.pairs_of_terms import PairsOfTerms
from tilewright_x86.strategies.tiles.register_tile import accumulate_in_registers
from tilewright_x86.strategies.tiles.stored_formats import rounds_natively
from tilewright_x86.strategies.tiles.vector_blocks import lanes


class PairsBfloat16(ScheduledImplementation):
    """Layout transforms to pairs of terms of a vector of columns."""

    name = "pairs_bf16.x86"

    def applies(self, task: Task) -> bool:
        """float32 to such pairs without margins, where the processor rounds to bfloat16."""
        if not (is_float32(task) and rounds_natively(task)) or task.workload.epilogue:
            return False
        source, target = _sides(task)
        *_, columns, terms = target.dims
        shape = task.workload.inputs[0].shape
        return (
            target.dtype == "bfloat16"
            and target.divides(shape)
            and source.divides(shape)
            and terms.extent == 2
            and columns.axis != terms.axis
            and columns.extent > 0
            and columns.extent % lanes(task) == 0
            and source.dims[-1].axis in (columns.axis, terms.axis)
        )

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """There is one way."""
        return [Knobs(self.name).alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """The one way."""
        return ConfigEntity(self.name)

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """The two that the operator names."""
        source, target = _sides(task)
        return Layouts((source.text,), (target.text,), constants(task))

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """Rows of columns in registers, two of them interleaved as they are stored.

        Where the source runs along terms, a square of it is turned first.
        """
        source, target = _sides(task)
        term, column = target.dims[-1].axis, target.dims[-2].axis
        pairs = PairsOfTerms(term, column, source.dims[-1].axis == term, lanes(task))
        s, held, final = accumulate_in_registers(schedule, "layout_transform")
        s, around = pairs.stored(s, final, task.workload.inputs[0].shape[term])
        s, one = fused(s, final, around)
        return pairs.held(s.parallel(final, one), final, held, one)


def _sides(task: Task) -> tuple[Layout, Layout]:
    attributes = task.workload.attributes
    return Layout.parse(attributes["src"]), Layout.parse(attributes["dst"])


pairs = PairsBfloat16
