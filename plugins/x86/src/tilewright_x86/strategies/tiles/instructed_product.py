"""Matrix products whose inner loops are one tensor instruction: operands and their formats."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.vocabulary.config import Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.strategies.scheduled_implementation import constants, epilogue_layouts


@dataclass(frozen=True, slots=True)
class Product:
    """`[..., rows, terms]` by `[..., terms, columns]`, or by weights as `[columns, terms]`.

    dtypes   of the two operands as the instruction reads them
    result   data type of the sums
    group    terms that lie side by side in the second operand: 4 bytes
    """

    rows: int
    columns: int
    terms: int
    dtypes: tuple[str, str]
    result: str
    group: int

    @classmethod
    def of(cls, task: Task) -> Product:
        """The product of a task, float32 operands rounded to bfloat16."""
        left, right = task.workload.inputs[:2]
        columns = right.shape[-2] if task.workload.operator == "dense" else right.shape[-1]
        if left.dtype == "float32" == right.dtype:
            dtypes, result, group = ("bfloat16", "bfloat16"), "float32", 2
        else:
            dtypes, result, group = (left.dtype, right.dtype), "int32", 4
        return cls(left.shape[-2], columns, left.shape[-1], dtypes, result, group)

    def layouts(self, task: Task, left: str, right: str) -> Layouts:
        """The formats of the operands; the result and what follows it are in logical order.

        In the blocks of `left`, M and K stand for rows and terms, in those of `right` K and N for
        terms and columns: `16m32k`. Blocks of terms and columns are outermost in `right`.
        """
        workload = task.workload
        first = Layout.logical(len(workload.inputs[0].shape)).text
        second = (
            "OI"
            if workload.operator == "dense"
            else Layout.logical(len(workload.inputs[1].shape)).text
        )
        column, term = (second[0], second[1]) if second == "OI" else (second[-1], second[-2])
        names = str.maketrans({"m": first[-2].lower(), "k": first[-1].lower()})
        left = first + left.translate(names)
        names = str.maketrans({"k": term.lower(), "n": column.lower()})
        right = f"{second[:-2]}{column}{term}" + right.translate(names)
        if self.result == "float32":
            left, right = f"{left}:{self.dtypes[0]}", f"{right}:{self.dtypes[1]}"
        rank = max(len(spec.shape) for spec in workload.inputs[:2])
        output = Layout.logical(rank).text
        return Layouts(
            (left, right, *epilogue_layouts(task, 2, output)), (output,), constants(task)
        )
