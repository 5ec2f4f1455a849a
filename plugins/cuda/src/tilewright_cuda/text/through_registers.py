"""Copies ahead that no instruction makes, through registers.

Only whole elements of memory are copied asynchronously. What is rounded on its way to shared memory
is loaded where its group of copies stands, before the products of the turn, and stored behind them:
meanwhile the loads are under way, as in kernels of before asynchronous copies (Nath et al. 2010).
"""

from __future__ import annotations

from dataclasses import replace

from tilewright_cuda.text.value_text import is_copy
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Load, Op, cast, dtype_of
from tilewright_tensor.ir.loop_ir import (
    Allocate,
    Block,
    CopyGroup,
    CopyWait,
    Guard,
    Loop,
    Statement,
    Store,
    block,
    changed_inside,
    stores,
    walk,
)
from tilewright_tensor.lowering.peel import renamed


class ThroughRegisters:
    """Changes a nest; `registers` are the buffers that every thread has for itself.

    A group's stores happen at the end of the block that waited for the group before it; they have
    until the next wait. One that follows no wait stays as it is: nothing is computed meanwhile.
    """

    def __init__(self) -> None:
        self.registers: list[Buffer] = []

    def changed(self, statement: Statement) -> Statement:
        """The statement with such groups as loads and stores apart."""
        if not isinstance(statement, Block):
            return changed_inside(statement, self.changed)
        before, waited = len(self.registers), False
        parts: list[Statement] = []
        late: list[Statement] = []
        for one in statement.statements:
            waited |= isinstance(one, CopyWait)
            if waited and isinstance(one, CopyGroup) and _is_computed(one):
                loads, rest = self._apart(one.body, ())
                parts.append(CopyGroup(loads))
                late.append(renamed(rest, {}, ".stored"))
            else:
                parts.append(self.changed(one))
        if not late:
            return block(parts)
        whole = block([*parts, *late])
        for buffer in self.registers[before:]:
            whole = Allocate(buffer, whole)
        return whole

    def _apart(self, statement: Statement, loops: tuple[Loop, ...]) -> tuple[Statement, Statement]:
        """(what loads, and copies what can be copied; what stores the rest)."""
        if isinstance(statement, Block):
            pairs = [self._apart(one, loops) for one in statement.statements]
            return block([one for one, _ in pairs]), block([other for _, other in pairs])
        if not isinstance(statement, Store):
            assert isinstance(statement, Loop | Guard)
            if isinstance(statement, Loop) and not statement.kind.startswith("threadIdx"):
                loops = (*loops, statement)
            loads, rest = self._apart(statement.body, loops)
            return replace(statement, body=loads), replace(statement, body=rest)
        if is_copy(statement):
            return statement, Block(())
        value = statement.value
        if isinstance(value, Op) and value.name == "cast":
            (value,) = value.args  # rounding waits for what is loaded
        buffer = Buffer(
            f"{statement.buffer.name}.fetched.{len(self.registers)}",
            tuple(loop.extent for loop in loops),
            dtype_of(value),
            "register",
        )
        self.registers.append(buffer)
        place = tuple(loop.var.affine() for loop in loops)
        rounded = cast(Load(buffer, place), statement.buffer.dtype)
        return Store(buffer, place, value), replace(statement, value=rounded)


def _is_computed(group: CopyGroup) -> bool:
    """Whether some of its stores are no copies, and all are made by loops alone."""
    found = list(walk(group.body))
    alone = all(isinstance(one, Block | Loop | Guard | Store) for one in found)
    return alone and not all(map(is_copy, stores(group.body)))
