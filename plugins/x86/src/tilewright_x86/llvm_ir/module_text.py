"""Joins functions to modules, and holds the facts of a kernel besides its text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tilewright_tensor.ir.loop_ir import LoopProgram


@dataclass(frozen=True, slots=True)
class KernelText:
    """A kernel's functions, what they declare, and the bytes of workspace it wants.

    features  of the processor that it needs, but for those of its vectors
    joins     whether values in registers go on behind guards: such a kernel is compiled without
              sinking, which moves multiply-adds behind the guards that follow them, away from their
              operands, which are then spilled (half the speed of convolutions with padding); other
              kernels are up to a sixth faster with it
    """

    name: str
    functions: tuple[str, ...]
    declarations: frozenset[str]
    features: frozenset[str]
    workspace_bytes: int
    joins: bool

    @property
    def module(self) -> str:
        """A whole module."""
        return module_text(self.functions, self.declarations)


def module_text(functions: Iterable[str], declarations: Iterable[str]) -> str:
    """Functions with their declarations and the one attribute group they use."""
    declared = "\n".join(f"declare {line}" for line in sorted(declarations))
    attributes = (
        'attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" }'
    )
    return "\n\n".join((*functions, declared, attributes)) + "\n"


def handing_over(symbol: str, chunk: str, extent: int, threads: int) -> str:
    """A function `void (ptr %operands)` that leaves a parallel loop over the operands to the pool.

    Assembly: a second LLVM function takes a tenth of the compile time, however short.
    """
    lines = (
        f".globl {symbol}",
        f".type {symbol}, @function",
        ".p2align 4",
        f"{symbol}:",
        "movq %rdi, %rsi",
        f"leaq {chunk}(%rip), %rdi",
        f"movabsq ${extent}, %rdx",
        f"movl ${threads}, %ecx",
        "jmp tw_parallel_for@PLT",
    )
    return "\n".join(f'module asm "{line}"' for line in lines)


def workspace_layout(program: LoopProgram) -> tuple[dict[str, int], int]:
    """Byte offset of every workspace buffer, 64-byte aligned, and the total."""
    offsets, total = {}, 0
    for buffer in program.workspace:
        offsets[buffer.name] = total
        total += -(-buffer.size * buffer.item_bytes // 64) * 64
    return offsets, total
