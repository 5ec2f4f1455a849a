"""Matrix products whose inner loops are one tensor instruction: operands and their formats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.operators.definition.places import broadcast_shapes
from tilewright_tensor.strategies.scheduled_implementation import constants, is_float32
from tilewright_x86.strategies.tiles.stored_formats import stored_in_bfloat16

_BATCHES, _ROWS = "batches", "rows"
"""What is outermost of an operand with heads, or the like: as products see them, or as rows lie
before their columns are cut into heads.
"""


@dataclass(frozen=True, slots=True)
class Product:
    """`[..., rows, terms]` by `[..., terms, columns]`, or by weights as `[columns, terms]`.

    batches  extents of the axes before them in the result
    dtypes   of the two operands as the instruction reads them
    result   data type of the sums
    group    terms that lie side by side in the second operand: 4 bytes
    """

    batches: tuple[int, ...]
    rows: int
    columns: int
    terms: int
    dtypes: tuple[str, str]
    result: str
    group: int

    @classmethod
    def of(cls, task: Task) -> Product:
        """The product of a task; operands are bfloat16, or float32 that is rounded to it."""
        left, right = task.workload.inputs[:2]
        columns = right.shape[-2] if task.workload.operator == "dense" else right.shape[-1]
        if {left.dtype, right.dtype} <= {"float32", "bfloat16"}:
            dtypes, result, group = ("bfloat16", "bfloat16"), "float32", 2
        else:
            dtypes, result, group = (left.dtype, right.dtype), "int32", 4
        batches = broadcast_shapes(left.shape[:-2], right.shape[:-2])
        return cls(batches, left.shape[-2], columns, left.shape[-1], dtypes, result, group)

    def define_formats(self, task: Task, knobs: Knobs) -> None:
        """Knobs: what sums of bfloat16 are stored as, and whether rows lie outside of heads."""
        for name, first in self.usual_formats(task).items():
            other = {"bfloat16": "float32", _BATCHES: _ROWS}[first]
            knobs.define_knob(name, [first, other])

    def usual_formats(self, task: Task) -> Mapping[str, str]:
        """Values of these knobs with which neighbours in bfloat16 agree."""
        if self.result != "float32":
            return {}
        stored = {"stored": "bfloat16"} if is_float32(task) else {}
        left, right = (spec.shape for spec in task.workload.inputs[:2])
        if min(len(left), len(right)) == 2 or left[-3] == 1:
            return stored
        return {**stored, "left_order": _BATCHES, "order": _BATCHES}

    def layouts(
        self, task: Task, config: ConfigEntity, left: str, right: str, output: str
    ) -> Layouts:
        """The formats of the operands; the result, of dtype `output`, has no blocks.

        In the blocks of `left`, M and K stand for rows and terms, in those of `right` K and N for
        terms and columns: `16m32k`. Blocks of terms and columns are outermost in `right`. What has
        an element for each of the result is stored as the result is.
        """
        formats = {name: config[name] for name in self.usual_formats(task)}
        first, second, *others = task.workload.inputs
        own = Layout.logical(len(first.shape)).text
        names = str.maketrans({"m": own[-2].lower(), "k": own[-1].lower()})
        left = _ordered(own, formats.get("left_order")) + left.translate(names)
        own = Layout.logical(len(second.shape)).text
        column, term = own[-1], own[-2]
        if task.workload.operator == "dense":
            own, column, term = "OI", "O", "I"
        names = str.maketrans({"k": term.lower(), "n": column.lower()})
        right = f"{own[:-2]}{column}{term}" + right.translate(names)
        whole = (*self.batches, self.rows, self.columns)
        result = _ordered(Layout.logical(len(whole)).text, formats.get("order"))
        inside = [spec.shape == whole and spec.role != "constant" for spec in others]
        rest = (
            result if lies_so else Layout.logical(len(spec.shape)).text
            for spec, lies_so in zip(others, inside, strict=True)
        )
        found = Layouts((left, right, *rest), (result,), constants(task))
        if self.result != "float32":
            return found
        if formats.get("stored") != "bfloat16":
            return stored_in_bfloat16(task, found, {0, 1})
        places = {0, 1, *(place for place, lies_so in enumerate(inside, 2) if lies_so)}
        return stored_in_bfloat16(task, found, places, output)


def _ordered(logical: str, order: str | None) -> str:
    """The axes of an operand with rows outside of the last batch, where an order says so."""
    if order != _ROWS:
        return logical
    return f"{logical[:-3]}{logical[-2]}{logical[-3]}{logical[-1]}"
