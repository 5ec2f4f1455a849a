"""A nest as the tensor instruction that computes it."""

from __future__ import annotations

from tilewright_tensor.expressions.affine import Affine
from tilewright_tensor.ir.instruction_match import instruction_operands
from tilewright_tensor.ir.loop_ir import Guard, Loop, Statement, Tensorized, guarded
from tilewright_tensor.ir.tensor_instruction import TensorInstruction


def tensorized(instruction: TensorInstruction, nest: Statement) -> Statement:
    """The instruction, under the conditions inside the nest that all of it has in common.

    Raises ValueError where the nest is not what the instruction means.
    """
    conditions, bare = _guards_apart(nest)
    node = Tensorized(instruction, bare)
    outside = [one for one in conditions if node.variables.isdisjoint(one[0].variables())]
    if len(outside) < len(conditions):
        index, limit = next(one for one in conditions if one not in outside)
        raise ValueError(
            f"instruction {instruction}: {index} < {limit} does not hold for all of it: "
            "choose factors that divide, or a padded format and overhang"
        )
    instruction_operands(node)
    return guarded(outside, node)


def _guards_apart(statement: Statement) -> tuple[list[tuple[Affine, int]], Statement]:
    """(the conditions of all guards in a perfect nest, the nest without them)."""
    if isinstance(statement, Guard):
        conditions, bare = _guards_apart(statement.body)
        return [*statement.conditions, *conditions], bare
    if isinstance(statement, Loop):
        conditions, bare = _guards_apart(statement.body)
        return conditions, Loop(statement.var, statement.extent, statement.kind, bare)
    return [], statement
