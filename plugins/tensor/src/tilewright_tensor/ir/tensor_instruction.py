"""Instructions that compute a whole nest: what they mean, and where their operands lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tilewright_tensor.expressions.buffer import Scope
from tilewright_tensor.expressions.tensor import Tensor


@dataclass(frozen=True, slots=True)
class TensorInstruction:
    """An instruction of a target, which a schedule's `tensorize` puts in place of loops.

    name         unique among all instructions
    target       kind of target that has it
    meaning      the tensor that it computes, over placeholders, which are its operands; a sum is
                 added to what the tensor held before
    strides      of every operand and of the result, by tensor name: elements between neighbours
                 along each axis; None for a distance that the text takes as an argument
    scope        of the buffer that the result lies in
    feature      that a processor or device needs; the target's text emulates it elsewhere
    clears       the instruction that writes the result before the first sum, and
    stores       the one that copies it to memory, where stores and loads cannot: for fragments

    The meaning stands in loop programs as plain loops (`Tensorized`), so that the interpreter, the
    features and the texts of targets without the instruction need to know nothing of it.
    """

    name: str
    target: str
    meaning: Tensor
    strides: Mapping[str, tuple[int | None, ...]] = field(hash=False)
    scope: Scope
    feature: str
    clears: TensorInstruction | None = None
    stores: TensorInstruction | None = None

    def __str__(self) -> str:
        return self.name
