"""The hooks that tensor adds, and what it has for those who write targets and strategies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilewright import hookspec

if TYPE_CHECKING:
    from tilewright_tensor.ir.tensor_instruction import TensorInstruction
    from tilewright_tensor.operators.definition.operator_def import OperatorDef

_PROGRAM = ("tilewright_tensor.ir.loop_ir", "LoopProgram")
_LIMITS = ("tilewright_tensor.sketches.structure.sketch_input", "Limits")
# By role, what no annotation of core can name: `tilewright plugins --protocols` shows it.
MORE_VALUES = {
    "strategy": (_PROGRAM, _LIMITS, ("tilewright_tensor.schedule.schedule", "Schedule")),
    "target": (
        _PROGRAM,
        ("tilewright_tensor.ir.network_program", "NetworkProgram"),
        _LIMITS,
        ("tilewright_tensor.kernels.host_kernel", "HostKernel"),
    ),
}


@hookspec
def tilewright_operators() -> Sequence[OperatorDef]:
    """Operator definitions. First: tensor.

    One is enough for a new operator: reference, text form and answer check follow from it, any
    element-wise operator of any plugin may stand in its epilogue, and strategies without a list of
    operators serve it.
    """
    raise NotImplementedError


@hookspec
def tilewright_tensor_instructions() -> Sequence[TensorInstruction]:
    """Instructions of a target that compute whole nests. First: x86.

    Each says what it means as a compute definition. Schedules put it in place of loops
    (`tensorize`), lowering proves that they are what it means, and the target's text has it, or
    emulates it where the machine lacks its feature.
    """
    raise NotImplementedError
