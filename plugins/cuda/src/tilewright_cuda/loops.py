"""What a strategy may hand to the backend beside a plain loop program."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright_tensor.loop_ir import LoopProgram


@dataclass(frozen=True, slots=True)
class CudaLoops:
    """A loop program with wishes for the compiler.

    min_blocks   blocks that a multiprocessor should hold at once, which bounds the registers of a
                 thread (`__launch_bounds__`); 0 leaves them to the compiler
    """

    loops: LoopProgram
    min_blocks: int = 0


def as_cuda_loops(program: LoopProgram | CudaLoops) -> CudaLoops:
    """The program with its wishes, none for a plain loop program."""
    return program if isinstance(program, CudaLoops) else CudaLoops(program)
