"""The stores of a loop program, each with what surrounds it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.ir.loop_ir import (
    Allocate,
    Barrier,
    Block,
    CopyGroup,
    CopyWait,
    Guard,
    Loop,
    LoopProgram,
    Prefetch,
    Statement,
    Store,
    Tensorized,
)


@dataclass(frozen=True, slots=True)
class StoreSite:
    """A store with what surrounds it.

    loops    outermost first
    runs     how often loop `i` is entered, and last how often the store runs, guards not counted
    guards   the conditions it stands under
    """

    store: Store
    loops: tuple[Loop, ...]
    runs: tuple[int, ...]
    guards: int

    def inside(self, loop: int) -> int:
        """How often the store runs in one entry of loop `i`."""
        return self.runs[-1] // self.runs[loop]


@dataclass
class Sites:
    """Everything in a program that costs time, by kind, in program order.

    scratch      allocated buffers, and how often each is allocated
    prefetches   and how often each runs
    forks        how often each parallel loop is entered
    """

    stores: list[StoreSite] = field(default_factory=list)
    scratch: list[tuple[Buffer, int]] = field(default_factory=list)
    prefetches: list[tuple[Prefetch, int]] = field(default_factory=list)
    forks: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, program: LoopProgram) -> Sites:
        """All of a program."""
        sites = cls()
        sites._visit(program.body, (), (1,), 0)
        return sites

    def _visit(
        self, statement: Statement, loops: tuple[Loop, ...], runs: tuple[int, ...], guards: int
    ) -> None:
        if isinstance(statement, Loop):
            if statement.kind == "parallel":
                self.forks.append(runs[-1])
            inner = (*runs, runs[-1] * statement.extent)
            self._visit(statement.body, (*loops, statement), inner, guards)
        elif isinstance(statement, Store):
            self.stores.append(StoreSite(statement, loops, runs, guards))
        elif isinstance(statement, Block):
            for one in statement.statements:
                self._visit(one, loops, runs, guards)
        elif isinstance(statement, Guard):
            self._visit(statement.body, loops, runs, guards + len(statement.conditions))
        elif isinstance(statement, Allocate):
            self.scratch.append((statement.buffer, runs[-1]))
            self._visit(statement.body, loops, runs, guards)
        elif isinstance(statement, CopyGroup | Tensorized):
            self._visit(statement.body, loops, runs, guards)
        elif isinstance(statement, Prefetch):
            self.prefetches.append((statement, runs[-1]))
        else:
            assert isinstance(statement, Barrier | CopyWait)
