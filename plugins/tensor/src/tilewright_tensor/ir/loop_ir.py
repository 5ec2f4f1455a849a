"""Loop programs: the lowest level, from which every target's text is generated.

A program owns its operands as buffers in physical layout, scratch buffers by scope, and one
statement. There is no pointer arithmetic and no type punning; every access is a buffer with one
affine index a dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import is_
from typing import Literal

from tilewright_tensor.expressions.affine import Affine, Var
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Load, Value, map_value
from tilewright_tensor.expressions.value_text import value_text
from tilewright_tensor.ir.tensor_instruction import TensorInstruction

_NOTHING = Affine()

LoopKind = Literal[
    "serial", "parallel", "unrolled", "vectorized",
    "blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z",
    "vthread",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class OutputRows:
    """Where rows of a network lie in a kernel's output: element i of `axis` is of row i // within.

    dimension   which rows: the number of the network's dimension, such as its batch
    """

    axis: int
    within: int = 1
    dimension: int = 0


@dataclass(frozen=True, slots=True)
class RowCount:
    """How many iterations of a loop reach the first so many rows: one at least.

    Iteration i writes at `before + step * (stride*i // length)` elements or behind; a row has
    `within`.

    dimension   of which rows are counted
    before      where the loop begins, by variables of loops around
    """

    within: int
    step: int
    length: int = 1
    stride: int = 1
    dimension: int = 0
    before: Affine = _NOTHING

    def of(self, rows: int, variables: Mapping[Var, int]) -> int:
        """The number, which may be more than the loop has, where loops around are so far."""
        left = max(1, rows * self.within - self.before.evaluate(variables))
        steps = -(-left // self.step)
        return -(-steps * self.length // self.stride)


@dataclass(frozen=True, slots=True)
class Loop:
    """`for var in range(extent): body`, carried out as `kind` says.

    A vectorised loop holds stores and guards only.

    rows   where the program may be asked for fewer rows than its output has: how many iterations
           are enough. A target whose kernels lack `RunsParts` carries out all.
    """

    var: Var
    extent: int
    kind: LoopKind
    body: Statement
    rows: RowCount | None = None


@dataclass(frozen=True, slots=True)
class Store:
    """`buffer[indices] = value`."""

    buffer: Buffer
    indices: tuple[Affine, ...]
    value: Value


@dataclass(frozen=True, slots=True)
class Guard:
    """`if index < limit for every condition: body`; how tails are expressed.

    An index with a `Lookup` in it lets what is in memory decide.
    A lower bound `index >= low` is written `(-index, 1 - low)`. The lowering leaves out what is
    known to hold.
    """

    conditions: tuple[tuple[Affine, int], ...]
    body: Statement


@dataclass(frozen=True, slots=True)
class Allocate:
    """Scratch memory that lives as long as the body; its content is undefined at the start."""

    buffer: Buffer
    body: Statement


@dataclass(frozen=True, slots=True)
class Block:
    """Statements one after the other."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Prefetch:
    """A hint that the line of this element will be read soon.

    The address may lie outside the buffer.
    """

    buffer: Buffer
    indices: tuple[Affine, ...]
    offset_bytes: int


@dataclass(frozen=True, slots=True)
class Barrier:
    """All threads of the block arrive before any goes on (GPU)."""


@dataclass(frozen=True, slots=True)
class CopyGroup:
    """Asynchronous stores into shared memory (GPU).

    Each may happen as late as at the thread's `CopyWait` for the group; what they read does not
    change until then.
    """

    body: Statement


@dataclass(frozen=True, slots=True)
class CopyWait:
    """The thread's copy groups have happened, all but the latest `pending` (GPU).

    Other threads see them after the next barrier.
    """

    pending: int


@dataclass(frozen=True, slots=True)
class Tensorized:
    """The nest inside is one instruction; see `instruction_operands`, which proves it.

    Texts of targets that lack the instruction write the nest instead.
    """

    instruction: TensorInstruction
    body: Statement

    @property
    def variables(self) -> frozenset[Var]:
        """Those of the loops inside."""
        return frozenset(one.var for one in walk(self.body) if isinstance(one, Loop))


Around = Loop | Guard | Allocate | CopyGroup | Tensorized
"""Statements with one statement inside."""
Statement = Around | Store | Block | Prefetch | Barrier | CopyWait


def inside(statement: Statement) -> tuple[Statement, ...]:
    """The statements directly inside a statement."""
    if isinstance(statement, Block):
        return statement.statements
    return (statement.body,) if isinstance(statement, Around) else ()


def walk(statement: Statement) -> Iterator[Statement]:
    """The statement and all inside it, in order, outside first."""
    pending = [statement]
    while pending:
        one = pending.pop()
        yield one
        pending += inside(one)[::-1]


def stores(statement: Statement) -> list[Store]:
    """All stores of a statement, in order."""
    return [one for one in walk(statement) if isinstance(one, Store)]


def buffers(program: LoopProgram) -> list[Buffer]:
    """All buffers of a program: operands, workspace, then scratch in order."""
    scratch = (one.buffer for one in walk(program.body) if isinstance(one, Allocate))
    return [*program.inputs, *program.outputs, *program.workspace, *scratch]


def synchronises(statement: Statement) -> bool:
    """Whether threads wait in it, for each other or for copies."""
    return any(isinstance(one, Barrier | CopyGroup | CopyWait) for one in walk(statement))


def changed_inside(statement: Statement, change: Callable[[Statement], Statement]) -> Statement:
    """The statement with what `change` makes of the statements directly inside it."""
    if isinstance(statement, Block):
        changed = [change(one) for one in statement.statements]
        same = all(map(is_, changed, statement.statements))
        return statement if same else block(changed)
    if isinstance(statement, Around):
        body = change(statement.body)
        return statement if body is statement.body else replace(statement, body=body)
    return statement


def changed_kinds(statement: Statement, kinds: Mapping[LoopKind, LoopKind]) -> Statement:
    """The statement with loops of other kinds, by the kind that they have."""
    if isinstance(statement, Loop):
        statement = replace(statement, kind=kinds.get(statement.kind, statement.kind))
    return changed_inside(statement, lambda one: changed_kinds(one, kinds))


def changed_leaves(
    statement: Statement,
    leaf: Callable[[Value], Value],
    around: Callable[[Statement], Statement] = lambda one: one,
    *,
    inside: bool = True,
) -> Statement:
    """The statement with every leaf of its values replaced by what `leaf` makes of it.

    What is stored to or fetched is given to `leaf` as a load too, and gives one. All other
    statements are first replaced by what `around` makes of them, outside first. `inside` as for
    `map_value`.
    """
    if not isinstance(statement, Store | Prefetch):
        return changed_inside(
            around(statement), lambda one: changed_leaves(one, leaf, around, inside=inside)
        )
    place = leaf(Load(statement.buffer, statement.indices))
    assert isinstance(place, Load)
    if isinstance(statement, Store):
        return Store(place.buffer, place.indices, map_value(statement.value, leaf, inside=inside))
    return Prefetch(place.buffer, place.indices, statement.offset_bytes)


def guarded(conditions: Sequence[tuple[Affine, int]], statement: Statement) -> Statement:
    """The statement under the conditions; itself where there are none."""
    return Guard(tuple(conditions), statement) if conditions else statement


def block(statements: Sequence[Statement]) -> Statement:
    """The statements in order.

    Blocks inside are opened, and a single statement stands for itself.
    """
    flat: list[Statement] = []
    for statement in statements:
        flat += statement.statements if isinstance(statement, Block) else [statement]
    return flat[0] if len(flat) == 1 else Block(tuple(flat))


@dataclass(frozen=True, slots=True)
class LoopProgram:
    """A kernel.

    inputs, outputs   operands in the workload's order, physical shapes, scope global
    workspace         global scratch that the caller provides, content undefined
    body              reads inputs and workspace, writes workspace and every element of the outputs
    passes            names of those that it went through, in order
    """

    name: str
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    body: Statement
    workspace: tuple[Buffer, ...] = ()
    passes: tuple[str, ...] = ()

    def operand(self, name: str) -> Buffer:
        """The operand of that name. Raises KeyError where there is none."""
        found = {buffer.name: buffer for buffer in (*self.inputs, *self.outputs)}
        return found[name]

    def __str__(self) -> str:
        """As indented text: a head with operands and workspace, then one line a statement."""
        operands = ", ".join(map(_buffer_text, self.inputs))
        results = ", ".join(map(_buffer_text, self.outputs))
        lines = [f"kernel {self.name}({operands}) -> {results}"]
        lines += [f"  workspace {_buffer_text(buffer)}" for buffer in self.workspace]
        lines += [f"  after {name}" for name in self.passes]
        _statement_lines(self.body, 1, lines)
        return "\n".join(lines)


def _buffer_text(buffer: Buffer) -> str:
    return f"{buffer.name}: {buffer.dtype}[{', '.join(map(str, buffer.shape))}]"


def _statement_lines(statement: Statement, depth: int, lines: list[str]) -> None:
    indent = "  " * depth
    if isinstance(statement, Block):
        for one in statement.statements:
            _statement_lines(one, depth, lines)
    elif isinstance(statement, Loop):
        kind = "for" if statement.kind == "serial" else statement.kind
        lines.append(f"{indent}{kind} {statement.var.name} in {statement.extent}:")
        _statement_lines(statement.body, depth + 1, lines)
    elif isinstance(statement, Guard):
        tests = " and ".join(f"{index} < {limit}" for index, limit in statement.conditions)
        lines.append(f"{indent}if {tests}:")
        _statement_lines(statement.body, depth + 1, lines)
    elif isinstance(statement, Allocate):
        lines.append(f"{indent}{statement.buffer.scope} {_buffer_text(statement.buffer)}")
        _statement_lines(statement.body, depth, lines)
    elif isinstance(statement, Store):
        target = f"{statement.buffer.name}[{', '.join(map(str, statement.indices))}]"
        lines.append(f"{indent}{target} = {value_text(statement.value)}")
    elif isinstance(statement, Prefetch):
        target = f"{statement.buffer.name}[{', '.join(map(str, statement.indices))}]"
        lines.append(f"{indent}prefetch {target} + {statement.offset_bytes} bytes")
    elif isinstance(statement, Tensorized):
        lines.append(f"{indent}{statement.instruction}:")
        _statement_lines(statement.body, depth + 1, lines)
    elif isinstance(statement, CopyGroup):
        lines.append(f"{indent}copies:")
        _statement_lines(statement.body, depth + 1, lines)
    elif isinstance(statement, CopyWait):
        lines.append(f"{indent}wait for copies, all but {statement.pending} groups")
    else:
        lines.append(f"{indent}barrier")
