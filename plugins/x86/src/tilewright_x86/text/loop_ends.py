"""How often loops go around, where the number of rows is known only when the kernel runs.

The last operand of such a kernel, behind the place of the workspace, points to the number of rows
of each dimension that are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright_tensor.expressions.affine import Affine
from tilewright_tensor.ir.loop_ir import Loop, LoopProgram, walk
from tilewright_x86.llvm_ir.index_text import Indexes
from tilewright_x86.llvm_ir.llvm_text import FunctionText

ROWS = "rows'"
"""Among the pointers of a function: where the numbers of rows are. No buffer has such a name."""


def ends_early(program: LoopProgram) -> bool:
    """Whether one of its loops may."""
    return any(isinstance(one, Loop) and one.rows is not None for one in walk(program.body))


class LoopEnds:
    """The ends of one function's loops, each computed where all that it depends on is known."""

    def __init__(self, text: FunctionText, indexes: Indexes, pointers: Mapping[str, str]) -> None:
        self._text, self._indexes, self._pointers = text, indexes, pointers

    def of(self, loop: Loop) -> str:
        """How often it goes around: never more often than it is long. What `RowCount.of` says."""
        count = loop.rows
        if count is None:
            return str(loop.extent)
        depth = 0

        def known(instruction: str) -> str:
            return self._text.hoist(instruction, depth)

        at = known(f"getelementptr i64, ptr {self._pointers[ROWS]}, i64 {count.dimension}")
        left = known(f"mul i64 {known(f'load i64, ptr {at}, align 8')}, {count.within}")
        if count.before != Affine():
            before = self._indexes.linear(count.before)
            depth = self._indexes.depth(before)
            left = known(f"sub i64 {left}, {self._indexes.text(before)}")
            some = known(f"icmp sgt i64 {left}, 1")
            left = known(f"select i1 {some}, i64 {left}, i64 1")
        steps = known(f"udiv i64 {known(f'add i64 {left}, {count.step - 1}')}, {count.step}")
        whole = known(f"add i64 {known(f'mul i64 {steps}, {count.length}')}, {count.stride - 1}")
        end = known(f"udiv i64 {whole}, {count.stride}")
        return known(
            f"select i1 {known(f'icmp ult i64 {end}, {loop.extent}')}, i64 {end}, i64 {loop.extent}"
        )
