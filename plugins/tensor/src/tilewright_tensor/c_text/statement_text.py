"""Statements of loop programs as C: the walk that every C-like target shares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tilewright_tensor.c_text.c_names import CNames
from tilewright_tensor.c_text.dialect import Dialect
from tilewright_tensor.c_text.index_text import INT_MAX, IndexText
from tilewright_tensor.c_text.value_text import ValueText
from tilewright_tensor.expressions.expr import Load, Op
from tilewright_tensor.ir.loop_ir import (
    Allocate,
    Block,
    Guard,
    Loop,
    LoopKind,
    Prefetch,
    Statement,
    Store,
    Tensorized,
)


class StatementText:
    """Writes statements, one line each, into `lines`; a target overrides what it does otherwise.

    As it is, every loop is a plain one, scratch stands on the stack, hints are left out, and what
    only GPUs do raises ValueError.

    values    writes values, and in them indexes
    pragmas   what stands before a loop, by its kind
    """

    values_class: ClassVar[type[ValueText]] = ValueText
    pragmas: ClassVar[Mapping[LoopKind, str]] = {}
    alignment = 64
    """Of scratch, in bytes."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.names = CNames(dialect.reserved)
        self.indexes = IndexText(self.names, dialect)
        self.accessed: set[str] = set()
        """Names of the buffers of which elements were written or read."""
        self.values = self.values_class(self.indexes, self.accessed)
        self.indexes.element = self.values.value
        self.lines: list[str] = []
        self.depth = 1

    def line(self, text: str) -> None:
        """One more line."""
        self.lines.append(f"{'  ' * self.depth}{text}")

    def braced(self, head: str, body: Statement) -> None:
        """The statement in braces after a head."""
        self.line(f"{head} {{")
        self.depth += 1
        self.statement(body)
        self.depth -= 1
        self.line("}")

    def statement(self, statement: Statement) -> None:
        """Write any statement."""
        if isinstance(statement, Block):
            for one in statement.statements:
                self.statement(one)
        elif isinstance(statement, Loop):
            self.loop(statement)
        elif isinstance(statement, Guard):
            self.guard(statement)
        elif isinstance(statement, Allocate):
            self.allocate(statement)
        elif isinstance(statement, Store):
            self.store(statement)
        elif isinstance(statement, Tensorized):
            self.tensorized(statement)
        elif not isinstance(statement, Prefetch):
            self.synchronise(statement)

    def loop(self, loop: Loop) -> None:
        """A loop that counts. Raises ValueError for one over blocks or threads."""
        if loop.kind not in ("serial", "parallel", "unrolled", "vectorized"):
            raise ValueError(f"a processor has no {loop.kind}")
        if pragma := self.pragmas.get(loop.kind):
            self.line(pragma)
        name = self.names.of(loop.var)
        self.indexes.bounds[loop.var] = (0, loop.extent - 1)
        kind = "int" if loop.extent <= INT_MAX else "long long"
        self.braced(f"for ({kind} {name} = 0; {name} < {loop.extent}; ++{name})", loop.body)

    def guard(self, guard: Guard) -> None:
        """What happens under conditions."""
        self.braced(f"if ({self.indexes.conditions(guard.conditions)})", guard.body)

    def allocate(self, allocate: Allocate) -> None:
        """Scratch, and what uses it."""
        buffer = allocate.buffer
        kind = self.dialect.type_of(buffer.dtype)
        self.line("{")
        self.depth += 1
        self.line(f"_Alignas({self.alignment}) {kind} {self.names.of(buffer)}[{buffer.size}];")
        self.statement(allocate.body)
        self.depth -= 1
        self.line("}")

    def store(self, store: Store) -> None:
        """An assignment."""
        self.line(f"{self.assignment(store)};")

    def assignment(self, store: Store) -> str:
        """`buffer[index] = value`, or `+=` where the value adds to the element."""
        target, value = Load(store.buffer, store.indices), store.value
        element = self.values.element(target)
        if isinstance(value, Op) and value.name == "add" and value.args[0] == target:
            return f"{element} += {self.values.whole(value.args[1])}"
        return f"{element} = {self.values.whole(value)}"

    def tensorized(self, node: Tensorized) -> None:
        """An instruction: the nest that it means."""
        self.statement(node.body)

    def synchronise(self, statement: Statement) -> None:
        """A barrier, or asynchronous copies; raises ValueError as it is."""
        raise ValueError(f"a processor has no {type(statement).__name__}")
