"""How often loops go around, where the number of rows is known only when the kernel runs.

The last operand of such a kernel, behind the place of the workspace, points to the number of rows
of each dimension that are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright_tensor.ir.loop_ir import Loop, LoopProgram, RowCount, walk
from tilewright_x86.llvm_ir.llvm_text import FunctionText

ROWS = "rows'"
"""Among the pointers of a function: where the numbers of rows are. No buffer has such a name."""


def ends_early(program: LoopProgram) -> bool:
    """Whether one of its loops may."""
    return any(isinstance(one, Loop) and one.rows is not None for one in walk(program.body))


class LoopEnds:
    """The ends of one function's loops, computed once at its start."""

    def __init__(self, text: FunctionText, pointers: Mapping[str, str]) -> None:
        self._entry, self._pointers = text.entry, pointers
        self._known: dict[tuple[RowCount, int], str] = {}

    def of(self, loop: Loop) -> str:
        """How often it goes around: never more often than it is long."""
        if loop.rows is None:
            return str(loop.extent)
        which = loop.rows, loop.extent
        if which not in self._known:
            name = self._known[which] = f"%end{len(self._known)}"
            self._entry += self._lines(name, loop.rows, loop.extent)
        return self._known[which]

    def _lines(self, name: str, count: RowCount, extent: int) -> list[str]:
        """What `RowCount.of` says."""
        return [
            f"  {name}.at = getelementptr i64, ptr {self._pointers[ROWS]}, i64 {count.dimension}",
            f"  {name}.rows = load i64, ptr {name}.at, align 8",
            f"  {name}.a = mul i64 {name}.rows, {count.within}",
            f"  {name}.b = add i64 {name}.a, {count.step - 1}",
            f"  {name}.c = udiv i64 {name}.b, {count.step}",
            f"  {name}.d = mul i64 {name}.c, {count.length}",
            f"  {name}.e = add i64 {name}.d, {count.stride - 1}",
            f"  {name}.f = udiv i64 {name}.e, {count.stride}",
            f"  {name}.less = icmp ult i64 {name}.f, {extent}",
            f"  {name} = select i1 {name}.less, i64 {name}.f, i64 {extent}",
        ]
