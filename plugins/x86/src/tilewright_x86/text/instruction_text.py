"""Tensor instructions as LLVM intrinsics."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.ir.instruction_match import InstructionOperand, instruction_operands
from tilewright_tensor.ir.loop_ir import Tensorized
from tilewright_x86.llvm_ir.memory_text import Memory
from tilewright_x86.llvm_ir.register_slots import NeedsMemoryError
from tilewright_x86.text.needs import Needs
from tilewright_x86.text.tile_text import TileText

_Operands = Mapping[str, InstructionOperand]


class InstructionText:
    """Writes the instructions that a level has into a function."""

    def __init__(self, memory: Memory, needs: Needs) -> None:
        self.memory = memory
        self.needs = needs
        self.tiles = TileText(memory, needs.declare)
        self._operands: dict[int, _Operands] = {}  # by identity: the program keeps its nodes alive

    def write(self, node: Tensorized) -> bool:
        """Write it at the present place; False where the ISA lacks it, and nothing is written."""
        instruction = node.instruction
        if not self.needs.uses(instruction.feature):
            return False
        operands = self._operands.get(id(node))
        if operands is None:
            operands = self._operands[id(node)] = instruction_operands(node)
        mnemonic, _, detail = instruction.name.partition(".")
        if mnemonic == "tilezero":
            self.tiles.clear(operands)
        elif mnemonic == "tilestored":
            self.tiles.store(operands)
        elif mnemonic.startswith("tdp"):
            self.tiles.multiply(mnemonic, operands)
        else:
            self._dot_product(mnemonic, operands, int(detail))
        return True

    def has_tiles(self, buffer: Buffer) -> bool:
        """Whether the buffer is in tile registers here."""
        return buffer.scope == "fragment" and self.needs.uses("amx-tile")

    def _dot_product(self, mnemonic: str, operands: _Operands, bits: int) -> None:
        lanes = bits // 32
        intrinsic, item, term, terms = _DOT_PRODUCTS[mnemonic]
        sums, factors = f"<{lanes} x {item}>", f"<{terms * lanes} x {term}>"
        name = f"@llvm.x86.{intrinsic}.{bits}"
        self.needs.declare(f"{sums} {name}({sums}, {factors}, {factors})")
        left = self._repeated(operands["a"], lanes, factors)
        right = self._loaded(operands["b"], factors)
        held = self._result(operands["c"], lanes, sums)
        result = self.memory.function.define(
            f"call {sums} {name}({sums} {held}, {factors} {left}, {factors} {right})"
        )
        self._hold(operands["c"], lanes, sums, result)

    # --- operands ---

    def _loaded(self, operand: InstructionOperand, kind: str) -> str:
        """What begins at the operand's first element, as one value of a type."""
        memory = self.memory
        pointer, align = memory.address(operand.buffer, memory.indexes.linear(operand.start))
        return memory.remember(operand.buffer, f"load {kind}, ptr {pointer}, align {align}", 0)

    def _repeated(self, operand: InstructionOperand, lanes: int, kind: str) -> str:
        """The first 4 bytes of the operand in every lane."""
        define, words = self.memory.function.define, f"<{lanes} x i32>"
        word = self._loaded(operand, "i32")
        one = define(f"insertelement {words} poison, i32 {word}, i32 0")
        every = define(f"shufflevector {words} {one}, {words} poison, {words} zeroinitializer")
        return define(f"bitcast {words} {every} to {kind}")

    def _result(self, operand: InstructionOperand, lanes: int, kind: str) -> str:
        """What the result held before: a register, or memory where it could not be one."""
        memory, buffer = self.memory, operand.buffer
        if buffer.name in memory.bases:
            return self._loaded(operand, kind)
        return memory.registers.read_vector(buffer, self._slot(operand), lanes, lanes)

    def _hold(self, operand: InstructionOperand, lanes: int, kind: str, value: str) -> None:
        memory, buffer = self.memory, operand.buffer
        if buffer.name not in memory.bases:
            memory.registers.write_vector(buffer, self._slot(operand), lanes, lanes, value)
            return
        pointer, align = memory.address(buffer, memory.indexes.linear(operand.start))
        memory.function.effect(f"store {kind} {value}, ptr {pointer}, align {align}")
        memory.forget(buffer)
        self.tiles.forget()

    def _slot(self, operand: InstructionOperand) -> int:
        at = self.memory.indexes.linear(operand.start)
        if at.terms:
            raise NeedsMemoryError(operand.buffer)
        return at.constant


_DOT_PRODUCTS = {
    "vdpbf16ps": ("avx512bf16.dpbf16ps", "float", "bfloat", 2),
    "vpdpbusd": ("avx512.vpdpbusd", "i32", "i8", 4),
}
"""By mnemonic: the intrinsic, LLVM types of sums and terms, terms of a lane."""
