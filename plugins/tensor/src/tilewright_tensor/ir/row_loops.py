"""Loops that end early where a kernel runs on fewer rows than it was made for.

Every element that is written inside a loop lies at or behind a place that grows with the loop's
variable, from where loops around it are. So once that place lies behind the last row, no later
iteration writes a row that counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from tilewright_tensor.expressions.affine import Affine, Atom, Bounds, FloorDiv, Mod, Var
from tilewright_tensor.ir.loop_ir import (
    Allocate,
    Loop,
    LoopProgram,
    OutputRows,
    RowCount,
    Statement,
    Store,
    changed_inside,
    inside,
    walk,
)

_ENDED_EARLY = ("serial", "parallel")


def with_row_loops(program: LoopProgram, rows: Sequence[OutputRows]) -> LoopProgram:
    """The program with a `RowCount` at each loop that writes rows of the output and nothing else.

    What it leaves out of the output are rows behind those that are asked for. Loops that write
    workspace, or rows in no order, run to their ends. Of several dimensions whose rows a loop goes
    through, it counts the first; loops inside it may count the others.
    """
    bounds = {one.var: (0, one.extent - 1) for one in walk(program.body) if isinstance(one, Loop)}
    (output,) = program.outputs

    def count_of(loop: Loop, around: frozenset[Var]) -> RowCount | None:
        lasting = [*_lasting_stores(loop.body)]
        if loop.extent == 1 or any(store.buffer != output for store in lasting):
            return None
        # Where stores lie differently behind the loops around, these do not count.
        for one, known in product(rows, (around, frozenset[Var]())):
            counts = {_count(one, store, loop.var, bounds, known) for store in lasting}
            if len(counts) == 1 and (count := counts.pop()) is not None:
                first = min(_first(one, store) for store in lasting)
                return replace(count, before=count.before + first)
        return None

    def marked(statement: Statement, around: frozenset[Var]) -> Statement:
        inner = around | {statement.var} if isinstance(statement, Loop) else around
        statement = changed_inside(statement, lambda one: marked(one, inner))
        if not isinstance(statement, Loop) or statement.kind not in _ENDED_EARLY:
            return statement
        return replace(statement, rows=count_of(statement, around))

    return replace(program, body=marked(program.body, frozenset()))


def _lasting_stores(statement: Statement) -> Iterator[Store]:
    """Those to memory that outlives the statement."""
    inner = {one.buffer for one in walk(statement) if isinstance(one, Allocate)}
    pending = [statement]
    while pending:
        one = pending.pop()
        if isinstance(one, Store) and one.buffer not in inner:
            yield one
        pending += inside(one)


def _count(
    rows: OutputRows, store: Store, variable: Var, bounds: Bounds, around: frozenset[Var]
) -> RowCount | None:
    """Of the iterations of the variable's loop, from `_first` on.

    `around` are the variables that it may count on.
    """
    place = store.indices[rows.axis]
    before = Affine(tuple(one for one in place.terms if _is_known(one[0], around)))
    for atom, step in place.terms:
        behind = place - before - Affine(((atom, step),)) - _first(rows, store)
        if step < 0 or _is_known(atom, around) or behind.range(bounds)[0] < 0:
            continue
        if atom == variable:
            return RowCount(rows.within, step, 1, 1, rows.dimension, before)
        if isinstance(atom, FloorDiv):
            stride = dict(atom.value.terms).get(variable, 0)
            others = atom.value - variable * stride
            if stride > 0 and others.range(bounds)[0] >= 0:
                return RowCount(rows.within, step, atom.divisor, stride, rows.dimension, before)
    return None


def _first(rows: OutputRows, store: Store) -> int:
    """Elements before all that a store writes, such as those of the tiles before a last one."""
    return max(0, store.indices[rows.axis].constant)


def _is_known(atom: Atom, variables: frozenset[Var]) -> bool:
    """Whether it is made of these variables alone, and of nothing that memory holds."""
    if isinstance(atom, FloorDiv | Mod):
        return all(_is_known(one, variables) for one, _ in atom.value.terms)
    return atom in variables
