"""What an x86 strategy may hand to the backend instead of a plain loop program."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright_tensor.ir.loop_ir import LoopProgram


@dataclass(frozen=True, slots=True)
class X86Program:
    """A loop program and the LLVM passes it wants, a name of `jit.PIPELINES`.

    The default runs none: the emitter leaves little to do, and a pipeline costs more than the rest
    of the compilation.
    """

    loops: LoopProgram
    passes: str = "none"

    def __str__(self) -> str:
        return str(self.loops)


def as_x86_program(program: LoopProgram | X86Program) -> X86Program:
    """The program with its passes, the default ones for a plain loop program."""
    return program if isinstance(program, X86Program) else X86Program(program)
