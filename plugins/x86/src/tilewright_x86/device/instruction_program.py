"""Programs that do nothing but one tensor instruction: they find its peak."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright_tensor.expressions.affine import Affine, Var, index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Const, Load, Read, Value, map_value
from tilewright_tensor.ir.loop_ir import (
    Allocate,
    Block,
    Loop,
    LoopProgram,
    Statement,
    Store,
    Tensorized,
)
from tilewright_tensor.ir.tensor_instruction import TensorInstruction
from tilewright_x86.instructions.dot_products import VDPBF16PS, VPDPBUSD
from tilewright_x86.instructions.tiles import PRODUCTS
from tilewright_x86.machine.isa import Isa

_VECTORS, _SHORT_VECTORS, _TILES = 24, 12, 6
"""Sums at a time: as many as hide an instruction's latency, and leave registers to operands."""


def instructions_of(isa: Isa) -> Mapping[str, TensorInstruction]:
    """The instructions of a level by `PRECISION/NAME`, the fastest of a precision last.

    Signed and unsigned bytes are multiplied at one speed.
    """
    lanes = isa.lanes(4)
    every = {
        "bfloat16": (VDPBF16PS[lanes], PRODUCTS["bfloat16", "bfloat16"]),
        "int8": (VPDPBUSD.get(lanes), PRODUCTS["uint8", "int8"]),
    }
    return {
        f"{precision}/{mnemonic(one)}": one
        for precision, known in every.items()
        for one in known
        if one is not None and one.feature in isa.features
    }


def mnemonic(instruction: TensorInstruction) -> str:
    """Its name without the width."""
    return instruction.name.partition(".")[0]


def instruction_program(instruction: TensorInstruction, threads: int, rounds: int) -> LoopProgram:
    """`rounds` times the same product is added to each of several sums, which do not wait.

    Every thread adds up sums of its own, which are the output: [threads, sums, ...].
    """
    shape = instruction.meaning.shape
    chains = _TILES if len(shape) > 1 else _VECTORS if shape[0] == 16 else _SHORT_VECTORS
    dtype = instruction.meaning.dtype
    sums = Buffer("sums", (chains, *shape), dtype, instruction.scope)
    out = Buffer("out", (threads, chains, *shape), dtype)
    factors = {
        read.tensor.name: Buffer(read.tensor.name, read.tensor.shape, read.tensor.dtype)
        for read in instruction.meaning.reads
    }
    thread, step, chain = Var("thread"), Var("step"), Var("chain")
    lanes = [Var(f"lane{number}") for number in range(len(shape))]
    at = [index(var) for var in lanes]
    own = index(chain)

    def every(statement: Statement) -> Loop:
        return Loop(chain, chains, "unrolled", statement)

    def lanewise(store: Statement) -> Statement:
        for var, extent in zip(reversed(lanes), reversed(shape), strict=True):
            store = Loop(var, extent, "vectorized" if var is lanes[-1] else "serial", store)
        return every(store)

    product = _nest(instruction, sums, own, factors)
    held, begin = sums, lanewise(Store(sums, (own, *at), Const(0, dtype)))
    end: list[Statement] = []
    if instruction.clears is not None and instruction.stores is not None:
        held = Buffer("stored", sums.shape, dtype, "local")
        begin = every(_nest(instruction.clears, sums, own, {}))
        end = [every(_nest(instruction.stores, held, own, {"a": sums}))]
    end.append(lanewise(Store(out, (index(thread), own, *at), Load(held, (own, *at)))))
    body: Statement = Block((begin, Loop(step, rounds, "serial", every(product)), *end))
    for buffer in dict.fromkeys((sums, held)):
        body = Allocate(buffer, body)
    name = f"peak_{mnemonic(instruction)}"
    return LoopProgram(
        name, tuple(factors.values()), (out,), Loop(thread, threads, "parallel", body)
    )


def _nest(
    instruction: TensorInstruction, result: Buffer, chain: Affine, operands: Mapping[str, Buffer]
) -> Tensorized:
    """The instruction on operands; the result, and an operand of as many axes, are a chain's."""
    meaning = instruction.meaning
    assert meaning.body is not None

    def place(buffer: Buffer, indices: tuple[Affine, ...]) -> Load:
        return Load(buffer, indices if len(indices) == len(buffer.shape) else (chain, *indices))

    def loaded(value: Value) -> Value:
        if isinstance(value, Read):
            return place(operands[value.tensor.name], value.indices)
        return value

    target = place(result, tuple(index(axis.var) for axis in meaning.axes))
    term = map_value(meaning.body, loaded)
    value = term if meaning.combiner is None else meaning.combiner.operation(target, term)
    statement: Statement = Store(result, target.indices, value)
    in_registers = result.scope == "register"
    for axis in reversed(meaning.reduce_axes):
        statement = Loop(axis.var, axis.extent, "unrolled" if in_registers else "serial", statement)
    for axis in reversed(meaning.axes):
        statement = Loop(
            axis.var, axis.extent, "vectorized" if in_registers else "serial", statement
        )
    return Tensorized(instruction, statement)
