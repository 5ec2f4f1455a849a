"""Loops that end early where a kernel runs on fewer rows than it was made for.

Every element that is written inside a loop lies at or behind a place that grows with the loop's
variable. So once that place lies behind the last row, no later iteration writes a row that counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tilewright_tensor.expressions.affine import Affine, Bounds, FloorDiv, Var
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
    through, it counts the first.
    """
    bounds = {one.var: (0, one.extent - 1) for one in walk(program.body) if isinstance(one, Loop)}
    (output,) = program.outputs

    def marked(statement: Statement) -> Statement:
        statement = changed_inside(statement, marked)
        if not isinstance(statement, Loop) or statement.kind not in _ENDED_EARLY:
            return statement
        lasting = [*_lasting_stores(statement.body)]
        if statement.extent == 1 or any(store.buffer != output for store in lasting):
            return statement
        for one in rows:
            counts = {_count(store.indices[one.axis], statement.var, bounds) for store in lasting}
            if len(counts) == 1 and (terms := counts.pop()) is not None:
                return replace(statement, rows=RowCount(one.within, *terms, one.dimension))
        return statement

    return replace(program, body=marked(program.body))


def _lasting_stores(statement: Statement) -> Iterator[Store]:
    """Those to memory that outlives the statement."""
    inner = {one.buffer for one in walk(statement) if isinstance(one, Allocate)}
    pending = [statement]
    while pending:
        one = pending.pop()
        if isinstance(one, Store) and one.buffer not in inner:
            yield one
        pending += inside(one)


def _count(place: Affine, variable: Var, bounds: Bounds) -> tuple[int, int, int] | None:
    """(step, length, stride) of a `RowCount`: the place is at least a term of the variable."""
    for atom, step in place.terms:
        rest = place - Affine(((atom, step),))
        if step < 0 or rest.range(bounds)[0] < 0:
            continue
        if atom == variable:
            return step, 1, 1
        if isinstance(atom, FloorDiv):
            stride = dict(atom.value.terms).get(variable, 0)
            others = atom.value - variable * stride
            if stride > 0 and others.range(bounds)[0] >= 0:
                return step, atom.divisor, stride
    return None
