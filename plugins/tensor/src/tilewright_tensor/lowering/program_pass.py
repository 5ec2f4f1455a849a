"""Passes over loop programs: what a strategy does to a kernel that no schedule says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tilewright_tensor.ir.loop_ir import LoopProgram


@dataclass(frozen=True, slots=True)
class ProgramPass:
    """A rewriting that computes the same.

    name   with its arguments: the passes of a program are part of its text
    run    gives a program of as many operands of the same names and dtypes
    """

    name: str
    run: Callable[[LoopProgram], LoopProgram]


def apply_passes(program: LoopProgram, passes: Sequence[ProgramPass]) -> LoopProgram:
    """The program after each pass, in order. Raises RuntimeError for one that changes operands."""
    for one in passes:
        before, program = program, one.run(program)
        if _operands(program) != _operands(before):
            raise RuntimeError(f"{program.name}: the pass {one.name} changes the operands")
        program = replace(program, passes=(*before.passes, one.name))
    return program


def _operands(program: LoopProgram) -> list[tuple[str, str]]:
    return [(buffer.name, buffer.dtype) for buffer in (*program.inputs, *program.outputs)]
