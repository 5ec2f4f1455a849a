"""Tensor instructions as calls of the prelude, where the architecture has them."""

from __future__ import annotations

from tilewright_cuda.instructions.mma import COLUMNS, ROWS
from tilewright_cuda.text.launch_shape import WARP
from tilewright_tensor.c_text.c_names import CNames
from tilewright_tensor.c_text.index_text import IndexText
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.ir.instruction_match import InstructionOperand, instruction_operands
from tilewright_tensor.ir.loop_ir import Tensorized

HAS_INSTRUCTIONS = "#if __CUDA_ARCH__ >= 800"
"""Before what GPUs with them run; the emulation, as older GPUs, has no such number."""
_SUMS = 4
"""Elements of a fragment that a thread has."""
_LOADED_BYTES = 16
"""That a thread takes of a row at once."""


class InstructionText:
    """Writes the instructions of one kernel."""

    def __init__(self, indexes: IndexText, names: CNames) -> None:
        self.indexes = indexes
        self.names = names

    @staticmethod
    def elements_of_thread(buffer: Buffer) -> int:
        """Elements of a fragment that lie in the registers of one thread."""
        return buffer.size // WARP

    def call(self, node: Tensorized) -> str:
        """The statement."""
        operands = instruction_operands(node)
        name, _, rest = node.instruction.name.partition(".")
        kind = rest.partition(".")[0]
        sums = self._sums(operands["a" if kind == "store" else "c"])
        if kind == "clear":
            return f"{self.indexes.helper('tw_mma_clear')}({sums});"
        if kind == "store":
            return f"{self.indexes.helper('tw_mma_store')}({sums}, {self._place(operands['c'])});"
        helper = self.indexes.helper(f"tw_{name}_{rest.replace('.', '_')}")
        factors = [operands[name] for name in ("a", "b")]
        for one in factors:
            _check_alignment(one)
        return f"{helper}({sums}, {', '.join(map(self._place, factors))});"

    def _sums(self, operand: InstructionOperand) -> str:
        """Where a thread has its elements of the fragment that the operand begins."""
        buffer, columns = operand.buffer, operand.strides[0]
        start = f"({self.indexes.index(operand.start)})"
        across = columns // COLUMNS
        number = f"{start} / {ROWS * columns} * {across} + {start} % {columns} / {COLUMNS}"
        return f"{self.names.of(buffer)} + {_SUMS} * ({number})"

    def _place(self, operand: InstructionOperand) -> str:
        """Address and distance of rows."""
        start = self.indexes.index(operand.start)
        return f"{self.names.of(operand.buffer)} + {start}, {operand.strides[0]}"


def _check_alignment(operand: InstructionOperand) -> None:
    """Raise ValueError where a thread would load from an address that the bytes do not divide."""
    buffer, scales = operand.buffer, (scale for _, scale in operand.start.terms)
    held = _LOADED_BYTES // buffer.item_bytes
    for distance in (operand.strides[0], operand.start.constant, *scales):
        if distance % held:
            raise ValueError(
                f"rows of {buffer.name} begin {distance} elements apart, expected a multiple of "
                f"{held}, which a thread loads at once"
            )
