"""From a candidate to an artefact."""

from __future__ import annotations

from tilewright.roles import Artifact
from tilewright.vocabulary.target import Target
from tilewright_tensor.ir.loop_ir import LoopProgram
from tilewright_x86.kernel import jit
from tilewright_x86.kernel.artifact import artifact_of
from tilewright_x86.kernel.program import X86Program, as_x86_program
from tilewright_x86.machine.isa import isa_needed, isa_of_code
from tilewright_x86.text.emit import emit


def build(program: LoopProgram | X86Program, target: Target) -> Artifact:
    """Object code of one kernel. Raises ValueError for a program that x86 cannot run."""
    chosen = as_x86_program(program)
    kernel = emit(chosen.loops, isa_of_code(target), target.threads)
    isa = isa_needed(isa_of_code(target), kernel.features)
    return artifact_of(
        target,
        isa,
        [jit.compile_kernel(kernel, isa, chosen.passes)],
        symbol=kernel.name,
        operands=[(b.shape, b.dtype) for b in (*chosen.loops.inputs, *chosen.loops.outputs)],
        workspace_bytes=kernel.workspace_bytes,
    )
