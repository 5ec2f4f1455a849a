"""A compiled network before code generation: what the graph side hands to a target's backend. Plain
data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tilewright_tensor.loop_ir import LoopProgram

BufferKind = Literal["input", "constant", "intermediate", "output"]


@dataclass(frozen=True, slots=True)
class NetworkBuffer:
    """A tensor of the network in physical layout.

    offset   bytes: into the constants for `constant`, into the arena for `intermediate`, 0
             otherwise; multiple of 64
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    kind: BufferKind
    offset: int = 0


@dataclass(frozen=True, slots=True)
class KernelCall:
    """One kernel launch; `operands` name buffers, the program's inputs first, then its outputs."""

    node: str
    program: LoopProgram
    operands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NetworkProgram:
    """Calls in execution order over buffers that a static plan has placed.

    A backend links it into one artefact whose kernel has these operands, in this order: the buffers
    of kind `input`, then one uint8 operand with all constants, then the buffers of kind `output`.
    Arena and workspace are the kernel's own.
    """

    name: str
    buffers: tuple[NetworkBuffer, ...]
    calls: tuple[KernelCall, ...]
    arena_bytes: int
    constant_bytes: int
