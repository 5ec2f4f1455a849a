"""The proof that a nest is what a tensor instruction means, and where its operands lie there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tilewright_tensor.expressions.affine import Affine, Var
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Load, Op, Read, Value
from tilewright_tensor.expressions.tensor import Axis, Tensor
from tilewright_tensor.expressions.value_text import value_text
from tilewright_tensor.ir.loop_ir import Loop, Statement, Store, Tensorized


@dataclass(frozen=True, slots=True)
class InstructionOperand:
    """Where an operand of an instruction, or its result, lies.

    start     its first element
    strides   elements between neighbours along each axis of the instruction's tensor
    """

    buffer: Buffer
    start: Affine
    strides: tuple[int, ...]


def instruction_operands(node: Tensorized) -> dict[str, InstructionOperand]:
    """The operands and the result by the names of the meaning's tensors.

    Loops have to be the meaning's, spatial ones first, and the store its expression, factors in
    either order, operands in its data types. Raises ValueError where the nest is not what the
    instruction means.
    """
    body = node.instruction.meaning.body
    assert body is not None
    try:
        return _operands(node, body)
    except ValueError:
        if not (isinstance(body, Op) and body.name == "mul"):
            raise
        try:
            return _operands(node, replace(body, args=body.args[::-1]))
        except ValueError:
            pass
        raise


def _operands(node: Tensorized, body: Value) -> dict[str, InstructionOperand]:
    """The same with this as the meaning's expression."""
    instruction = node.instruction
    meaning = instruction.meaning
    axes = meaning.axes + meaning.reduce_axes
    values: dict[Var, Var] = {}
    statement: Statement = node.body
    for axis in axes:
        if not isinstance(statement, Loop):
            raise _refused(node, f"its loop over {axis.name} is missing: {_kind(statement)}")
        if statement.extent != axis.extent:
            raise _refused(
                node,
                f"loop {statement.var.name} runs {statement.extent} times, expected {axis.extent}",
            )
        values[axis.var] = statement.var
        statement = statement.body
    if not isinstance(statement, Store):
        raise _refused(node, f"one store is expected inside, not {_kind(statement)}")
    place = Load(statement.buffer, statement.indices)
    value = statement.value
    if meaning.combiner is not None:
        summed = meaning.combiner.operation(place, place)
        if not (isinstance(value, Op) and isinstance(summed, Op)):
            raise _refused(node, f"it stores {value_text(value)}, no {meaning.combiner.name}")
        if value.name != summed.name or value.args[0] != place:
            raise _refused(node, f"it stores {value_text(value)}, no {meaning.combiner.name}")
        value = value.args[1]
    found = {meaning.name: place}
    _matched(node, body, value, values, found)
    if statement.buffer.scope != instruction.scope:
        raise _refused(
            node,
            f"{statement.buffer.name} is {statement.buffer.scope}, expected {instruction.scope}",
        )
    tensors = {read.tensor.name: read.tensor for read in meaning.reads} | {meaning.name: meaning}
    return {
        name: _operand(node, tensors[name], load, [values[axis.var] for axis in _of(node, name)])
        for name, load in found.items()
    }


def _of(node: Tensorized, name: str) -> tuple[Axis, ...]:
    """The axes that the instruction's tensor of that name is read or written by."""
    meaning = node.instruction.meaning
    if name == meaning.name:
        return meaning.axes
    read = next(read for read in meaning.reads if read.tensor.name == name)
    by_var = {axis.var.affine(): axis for axis in meaning.axes + meaning.reduce_axes}
    return tuple(by_var[index] for index in read.indices)


def _matched(
    node: Tensorized,
    pattern: Value,
    value: Value,
    values: Mapping[Var, Var],
    found: dict[str, Load],
) -> None:
    """Note what stands for each operand. Raises ValueError where the expressions differ."""
    if isinstance(pattern, Read):
        tensor = pattern.tensor
        if not isinstance(value, Load) or value.buffer.dtype != tensor.dtype:
            got = value.buffer.dtype if isinstance(value, Load) else "no element of memory"
            raise _refused(
                node,
                f"operand {tensor.name} is {value_text(value)}, {got}, expected {tensor.dtype}",
            )
        if found.setdefault(tensor.name, value) != value:
            raise _refused(node, f"operand {tensor.name} is read at two places")
    elif isinstance(pattern, Op):
        same = isinstance(value, Op) and (value.name, value.dtype) == (pattern.name, pattern.dtype)
        if not (same and isinstance(value, Op) and len(value.args) == len(pattern.args)):
            raise _refused(node, f"{value_text(value)} is no {value_text(pattern)}")
        for inner, other in zip(pattern.args, value.args, strict=True):
            _matched(node, inner, other, values, found)
    elif pattern != value:
        raise _refused(node, f"{value_text(value)} is no {value_text(pattern)}")


def _operand(node: Tensorized, tensor: Tensor, load: Load, loops: list[Var]) -> InstructionOperand:
    nest = node.variables
    flat = load.buffer.flat(load.indices)
    own = {atom: scale for atom, scale in flat.terms if isinstance(atom, Var) and atom in nest}
    rest = Affine(tuple(t for t in flat.terms if t[0] not in own), flat.constant)
    if not nest.isdisjoint(rest.variables()):
        raise _refused(node, f"the place of {load.buffer.name} is {flat}, not linear in its loops")
    strides = tuple(own.pop(var, 0) for var in loops)
    if any(own.values()):
        moved = ", ".join(var.name for var in own)
        raise _refused(node, f"operand {tensor.name}, {load.buffer.name}, varies with {moved}")
    for axis, (got, wanted) in enumerate(
        zip(strides, node.instruction.strides[tensor.name], strict=True)
    ):
        if wanted is not None and got != wanted:
            raise _refused(
                node,
                f"neighbours of {load.buffer.name} along axis {axis} of operand {tensor.name} lie "
                f"{got} elements apart, expected {wanted}: choose another layout or loop order",
            )
    return InstructionOperand(load.buffer, rest, strides)


def _kind(statement: Statement) -> str:
    return f"a {type(statement).__name__.lower()}"


def _refused(node: Tensorized, reason: str) -> ValueError:
    return ValueError(f"instruction {node.instruction}: {reason}")
