"""The operands of attention, and whether rows lie inside of heads or outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.strategies.scheduled_implementation import constants

_BATCHES, _ROWS = "batches", "rows"
"""What is outermost: heads, as the operator sees them, or rows, as they lie before their columns
are cut into heads.
"""
SCRATCH_BYTES = 15 << 17
"""Of a thread: nearly half, since a last block that is not full has scratch of its own."""


@dataclass(frozen=True, slots=True)
class Heads:
    """Of a task: heads and what else is around them, queries, keys, and columns of the values."""

    batches: tuple[int, ...]
    queries: int
    keys: int
    columns: int

    @classmethod
    def of(cls, task: Task) -> Heads:
        """Of its operands."""
        queries, _, values = (spec.shape for spec in task.workload.inputs[:3])
        return cls(queries[:-2], queries[-2], values[-2], values[-1])

    def define_order(self, knobs: Knobs) -> None:
        """The knob `order`, where there are several heads: what is outermost of each operand."""
        if self.usual_order():
            knobs.define_knob("order", [_BATCHES, _ROWS])

    def usual_order(self) -> Mapping[str, str]:
        """The value that needs nothing of neighbours."""
        return {"order": _BATCHES} if self.batches and self.batches[-1] > 1 else {}

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Queries, keys, values and the result in the order chosen; the mask as it is."""
        logical = Layout.logical(len(self.batches) + 2).text
        text = logical
        if self.usual_order() and config["order"] == _ROWS:
            text = f"{logical[:-3]}{logical[-2]}{logical[-3]}{logical[-1]}"
        return Layouts((text, text, text, logical), (text,), constants(task))
