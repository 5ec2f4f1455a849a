"""A compiled network before code generation: what the graph side hands to a target's backend. Plain
data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

from tilewright_tensor.ir.loop_ir import LoopProgram, OutputRows

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
    """One kernel launch; `operands` name buffers, the program's inputs first, then its outputs.

    others  programs of the same operands that may take the program's place once the network is
            loaded (see `SwapsKernels`); a backend without that leaves them out
    rows    where rows of the network's dimensions lie in the output; behind those that are asked
            for, the kernel may write anything or nothing (see `with_row_loops`)
    """

    node: str
    program: LoopProgram
    operands: tuple[str, ...]
    others: tuple[LoopProgram, ...] = ()
    rows: tuple[OutputRows, ...] = ()

    def check(
        self,
        operands: Sequence[tuple[tuple[int, ...], str]],
        buffers: Mapping[str, NetworkBuffer],
    ) -> None:
        """Raise ValueError unless a kernel of these operands, (shape, dtype), fits the buffers."""
        wanted = [(prod(shape), dtype) for shape, dtype in operands]
        given = [(prod(b.shape), b.dtype) for b in map(buffers.__getitem__, self.operands)]
        if wanted != given:
            raise ValueError(
                f"node {self.node!r}: its kernel takes {wanted}, the call gives {given}"
            )


@dataclass(frozen=True, slots=True)
class NetworkProgram:
    """Calls in execution order over buffers that a static plan has placed.

    A backend links it into one artefact whose kernel has the operands that `operands` lists. Arena
    and workspace are the kernel's own.

    rows   of each dimension, the most that may be asked for (see `RunsParts`)
    """

    name: str
    buffers: tuple[NetworkBuffer, ...]
    calls: tuple[KernelCall, ...]
    arena_bytes: int
    constant_bytes: int
    rows: tuple[int, ...] = ()

    @property
    def operands(self) -> tuple[tuple[tuple[int, ...], str], ...]:
        """(shape, dtype) of each: the inputs, one uint8 block of all constants, the outputs."""
        inputs = [(b.shape, b.dtype) for b in self.buffers if b.kind == "input"]
        outputs = [(b.shape, b.dtype) for b in self.buffers if b.kind == "output"]
        return (*inputs, ((self.constant_bytes,), "uint8"), *outputs)

    @property
    def places(self) -> dict[str, tuple[int, int]]:
        """Where each buffer is: (number of the operand, bytes into it).

        The arena has the number after the last operand.
        """
        inputs = [b for b in self.buffers if b.kind == "input"]
        outputs = [b for b in self.buffers if b.kind == "output"]
        constants = len(inputs)
        first = {"constant": constants, "intermediate": constants + 1 + len(outputs)}
        found = {b.name: (first[b.kind], b.offset) for b in self.buffers if b.kind in first}
        found |= {b.name: (number, 0) for number, b in enumerate(inputs)}
        return found | {b.name: (constants + 1 + number, 0) for number, b in enumerate(outputs)}
