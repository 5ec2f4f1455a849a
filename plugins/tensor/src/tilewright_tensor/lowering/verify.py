"""Checks that loop programs are well formed, for tests; returns a list of defects.

Rules see every statement with what is known there: the loops, guards and scratch around it. They
are necessary conditions, cheap enough for every candidate of a test; that the answer is right only
a run can tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from tilewright_tensor.expressions.affine import Affine, Var
from tilewright_tensor.expressions.buffer import IN_REGISTERS, Buffer
from tilewright_tensor.expressions.expr import (
    Load,
    Op,
    Read,
    Value,
    indexes_in,
    leaves,
    values_inside,
)
from tilewright_tensor.ir.facts import Condition, Facts
from tilewright_tensor.ir.instruction_match import instruction_operands
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
class Site:
    """A statement and what is around it.

    copies        whether a group of copies is
    instruction   variables of the instruction that it is part of
    """

    program: LoopProgram
    statement: Statement
    loops: tuple[Loop, ...]
    buffers: Mapping[str, Buffer]
    facts: Facts
    copies: bool = False
    instruction: frozenset[Var] = frozenset()

    @property
    def expanded(self) -> frozenset[Var]:
        """Variables that code generation replaces by numbers."""
        expanded = (loop.var for loop in self.loops if loop.kind in ("unrolled", "vectorized"))
        return self.instruction.union(expanded)


def verify(program: LoopProgram) -> list[str]:
    """The defects of the program, one line each."""
    operands = program.inputs + program.outputs + program.workspace
    names = [buffer.name for buffer in operands]
    problems = [
        f"two buffers are named {name}" for name in dict.fromkeys(names) if names.count(name) > 1
    ]
    problems += [
        f"operand {b.name} has scope {b.scope}, expected global"
        for b in operands
        if b.scope != "global"
    ]
    root = Site(program, program.body, (), {buffer.name: buffer for buffer in operands}, Facts({}))
    written: set[str] = set()
    for site in _sites(root):
        for rule in RULES:
            problems += rule(site)
        if isinstance(site.statement, Store):
            written.add(site.statement.buffer.name)
    problems += [
        f"output {b.name} is never written" for b in program.outputs if b.name not in written
    ]
    problems += [
        f"workspace {b.name} is never written" for b in program.workspace if b.name not in written
    ]
    return problems


def _sites(site: Site) -> Iterator[Site]:
    """The statement and everything inside, outside first."""
    yield site
    statement = site.statement
    if isinstance(statement, Block):
        for one in statement.statements:
            yield from _sites(replace(site, statement=one))
    elif isinstance(statement, Loop):
        facts = Facts(
            {**site.facts.bounds, statement.var: (0, statement.extent - 1)}, site.facts.conditions
        )
        yield from _sites(
            replace(site, statement=statement.body, loops=(*site.loops, statement), facts=facts)
        )
    elif isinstance(statement, Guard):
        facts = _within(site.facts.with_conditions(statement.conditions), statement)
        yield from _sites(replace(site, statement=statement.body, facts=facts))
    elif isinstance(statement, Tensorized):
        inside = replace(site, statement=statement.body, instruction=statement.variables)
        yield from _sites(inside)
    elif isinstance(statement, CopyGroup):
        yield from _sites(replace(site, statement=statement.body, copies=True))
    elif isinstance(statement, Allocate):
        buffers = {**site.buffers, statement.buffer.name: statement.buffer}
        yield from _sites(replace(site, statement=statement.body, buffers=buffers))


def _within(facts: Facts, guard: Guard) -> Facts:
    """The facts with loops ended where a condition on their variable alone turns false."""
    bounds = dict(facts.bounds)
    for index, limit in guard.conditions:
        ((atom, scale), *others) = index.terms or ((None, 0),)
        if isinstance(atom, Var) and scale > 0 and not others and atom in bounds:
            low, high = bounds[atom]
            bounds[atom] = (low, max(low, min(high, (limit - index.constant - 1) // scale)))
    return Facts(bounds, facts.conditions)


# --- rules ----------------------------------------------------------------------------------------


def _accesses(site: Site) -> Iterator[tuple[Buffer, tuple[Affine, ...], Facts | None]]:
    """Every access of a store, with the facts there.

    None where that cannot be said as guards (a select).
    """
    if isinstance(site.statement, Store):
        yield site.statement.buffer, site.statement.indices, site.facts
        yield from _loads(site.statement.value, site.facts)
    elif isinstance(site.statement, Prefetch):
        yield site.statement.buffer, site.statement.indices, None


def _loads(
    value: Value, facts: Facts | None
) -> Iterator[tuple[Buffer, tuple[Affine, ...], Facts | None]]:
    if isinstance(value, Load):
        yield value.buffer, value.indices, facts
    if isinstance(value, Op) and value.name == "select":
        yield from _loads(value.args[0], facts)
        yield from _loads(value.args[1], None)
        yield from _loads(value.args[2], None)
        return
    for inner in value.args if isinstance(value, Op) else values_inside(value):
        yield from _loads(inner, facts)


def _buffers_are_declared(site: Site) -> Iterator[str]:
    for buffer, indices, _ in _accesses(site):
        if site.buffers.get(buffer.name) != buffer:
            yield f"{buffer.name} is used where it is not declared"
        elif len(indices) != len(buffer.shape):
            rank = len(buffer.shape)
            yield f"{buffer.name} has {rank} dimensions, used with {len(indices)} indexes"
    if isinstance(site.statement, Allocate) and site.statement.buffer.name in site.buffers:
        yield f"two buffers are named {site.statement.buffer.name}"


def _inputs_are_not_written(site: Site) -> Iterator[str]:
    if isinstance(site.statement, Store) and site.statement.buffer in site.program.inputs:
        yield f"input {site.statement.buffer.name} is written"


def _variables_are_bound(site: Site) -> Iterator[str]:
    bound = site.facts.bounds.keys()
    found: list[Affine] = []
    if isinstance(site.statement, Store | Prefetch):
        found += site.statement.indices
    if isinstance(site.statement, Store):
        found += indexes_in(site.statement.value)
    elif isinstance(site.statement, Guard):
        found += (index for index, _ in site.statement.conditions)
    for var in frozenset[Var]().union(*(index.variables() for index in found)) - bound:
        yield f"{var.name} is used outside of its loop"
    if isinstance(site.statement, Loop):
        if site.statement.var in bound:
            yield f"two loops around each other are named {site.statement.var.name}"
        if site.statement.extent < 1:
            yield f"loop {site.statement.var.name} has extent {site.statement.extent}"


def _indices_are_in_bounds(site: Site) -> Iterator[str]:
    for buffer, indices, facts in _accesses(site):
        if facts is None or not _known(indices, facts):
            continue
        for dimension, (index, extent) in enumerate(zip(indices, buffer.shape, strict=False)):
            if not (_proved((index, extent), facts) and _proved((-index, 1), facts)):
                where = f"{buffer.name}: dimension {dimension}, index {index}"
                yield f"{where} may lie outside of 0 .. {extent - 1}"


def _known(indices: tuple[Affine, ...], facts: Facts) -> bool:
    return all(index.variables() <= facts.bounds.keys() for index in indices)


def _proved(condition: Condition, facts: Facts) -> bool:
    return facts.holds(condition) is True


def _registers_are_constant(site: Site) -> Iterator[str]:
    for buffer, indices, _ in _accesses(site):
        if buffer.scope in IN_REGISTERS:
            for index in indices:
                for var in index.variables() - site.expanded:
                    where = f"{buffer.scope} {buffer.name}: index {index}"
                    yield f"{where} varies with {var.name}, which is not unrolled"


def _vector_loops_are_innermost(site: Site) -> Iterator[str]:
    if (
        site.loops
        and not site.instruction
        and site.loops[-1].kind == "vectorized"
        and isinstance(site.statement, Loop | Allocate | Barrier)
    ):
        kind = type(site.statement).__name__.lower()
        name = site.loops[-1].var.name
        yield f"vectorised loop {name} holds a {kind}, expected stores and guards only"


def _threads_are_outside(site: Site) -> Iterator[str]:
    if not isinstance(site.statement, Loop):
        return
    kind = site.statement.kind
    if "Idx" in kind and any(loop.kind == kind for loop in site.loops):
        yield f"loop {site.statement.var.name} is bound to {kind} inside another such loop"
    if kind == "parallel" and any(loop.kind in ("parallel", "vectorized") for loop in site.loops):
        yield f"parallel loop {site.statement.var.name} is inside another one"


def _barriers_are_met_by_all(site: Site) -> Iterator[str]:
    if not isinstance(site.statement, Barrier):
        return
    threads = {
        loop.var
        for loop in site.loops
        if loop.kind.startswith("threadIdx") or loop.kind == "vthread"
    }
    for index, limit in site.facts.conditions:
        if not threads.isdisjoint(index.variables()):
            yield f"a barrier is inside the guard {index} < {limit}, in which threads may differ"


def _copies_fill_shared_memory(site: Site) -> Iterator[str]:
    if not site.copies:
        return
    if isinstance(site.statement, Store) and site.statement.buffer.scope == "global":
        yield f"global {site.statement.buffer.name} is written by a group of copies"
    if isinstance(site.statement, Barrier | CopyGroup | CopyWait):
        yield f"a group of copies holds a {type(site.statement).__name__.lower()}"


def _instructions_are_their_nests(site: Site) -> Iterator[str]:
    if isinstance(site.statement, Tensorized):
        try:
            instruction_operands(site.statement)
        except ValueError as error:
            yield str(error)


def _values_are_lowered(site: Site) -> Iterator[str]:
    for leaf in leaves(site.statement.value) if isinstance(site.statement, Store) else ():
        if isinstance(leaf, Read):
            yield f"a read of tensor {leaf.tensor.name} is left"


RULES: tuple[Callable[[Site], Iterator[str]], ...] = (
    _buffers_are_declared,
    _inputs_are_not_written,
    _variables_are_bound,
    _indices_are_in_bounds,
    _registers_are_constant,
    _vector_loops_are_innermost,
    _threads_are_outside,
    _barriers_are_met_by_all,
    _copies_fill_shared_memory,
    _instructions_are_their_nests,
    _values_are_lowered,
)
