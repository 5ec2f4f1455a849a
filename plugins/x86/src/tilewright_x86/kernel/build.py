"""From a candidate to an artefact."""

from __future__ import annotations

from tilewright.roles import Artifact
from tilewright.vocabulary.target import Target
from tilewright_tensor.ir.loop_ir import LoopProgram
from tilewright_x86.kernel import jit
from tilewright_x86.kernel.artifact import artifact_of
from tilewright_x86.kernel.program import X86Program, as_x86_program
from tilewright_x86.llvm_ir.module_text import KernelText
from tilewright_x86.machine.isa import isa_needed, isa_of_code
from tilewright_x86.text.emit import emit


def build(program: LoopProgram | X86Program, target: Target) -> Artifact:
    """Object code of one kernel. Raises ValueError for a program that x86 cannot run."""
    chosen = as_x86_program(program)
    kernel = _emitted(chosen, target)
    isa = isa_needed(isa_of_code(target), kernel.features)
    return artifact_of(
        target,
        isa,
        [jit.compile_kernel(kernel, isa, chosen.passes)],
        symbol=kernel.name,
        operands=[(b.shape, b.dtype) for b in (*chosen.loops.inputs, *chosen.loops.outputs)],
        workspace_bytes=kernel.workspace_bytes,
    )


def code_text(program: LoopProgram | X86Program, target: Target) -> str:
    """The LLVM IR that `build` compiles. Raises ValueError as it does."""
    return _emitted(as_x86_program(program), target).module


def _emitted(program: X86Program, target: Target) -> KernelText:
    return emit(program.loops, isa_of_code(target), target.threads)
