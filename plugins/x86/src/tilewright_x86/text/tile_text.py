"""The tile registers of AMX in one function: which of the eight holds what.

Sums of `fragment` buffers have a register each for as long as the buffer lives. The others hold
operands, the one that was loaded first giving way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.ir.instruction_match import InstructionOperand
from tilewright_x86.llvm_ir.memory_text import Memory

_TILES = 8
_OPERANDS = 2
"""Registers that sums leave to operands at least."""
_ROWS, _ROW_BYTES = 16, 64
_PALETTE, _ROW_BYTES_AT, _ROWS_AT, _CONFIGURATION_BYTES = 1, 16, 48, 64


class TileText:
    """Writes the instructions of tiles into a function."""

    def __init__(self, memory: Memory, declare: Callable[[str], None]) -> None:
        self.memory = memory
        self.function = memory.function
        self.declare = declare
        self._sums: dict[tuple[str, int], int] = {}
        self._operands: dict[int, str] = {}  # what is in a register, the oldest first
        self._configuration = ""  # its address, once there is one
        self._given_back: list[list[str]] = []  # where another function has given registers back

    def release(self, buffer: Buffer) -> None:
        """The buffer's registers are free."""
        self._sums = {key: tile for key, tile in self._sums.items() if key[0] != buffer.name}

    def forget(self) -> None:
        """Something was stored: what was loaded may be stale."""
        self._operands.clear()

    def called(self, other: TileText) -> None:
        """A function ran on this thread, too: it has stored something, and maybe used tiles.

        Raises ValueError where that costs this one its sums.
        """
        self.forget()
        if not other._configuration:
            return
        if self._sums:
            raise ValueError("tiles of sums stand around a parallel loop that has some of its own")
        here: list[str] = []
        self._given_back.append(here)
        self.function.lines.append(here)

    def leave(self) -> None:
        """Before the function returns: give the registers back."""
        if self._configuration:
            for place in self._given_back:
                place.append(self._configuring())
            self.declare("void @llvm.x86.tilerelease()")
            self.function.effect("call void @llvm.x86.tilerelease()")

    def clear(self, operands: Mapping[str, InstructionOperand]) -> None:
        """`tilezero`: the sums begin at zero."""
        self.declare("void @llvm.x86.tilezero(i8)")
        tile = self._sum(operands["c"])
        self.function.effect(f"call void @llvm.x86.tilezero(i8 {tile})")

    def multiply(self, mnemonic: str, operands: Mapping[str, InstructionOperand]) -> None:
        """`tdp...`: products of two tiles are added to the sums."""
        name = f"@llvm.x86.{mnemonic}"
        self.declare(f"void {name}(i8, i8, i8)")
        total = self._sum(operands["c"])
        left = self._loaded(operands["a"])
        right = self._loaded(operands["b"])
        self.function.effect(f"call void {name}(i8 {total}, i8 {left}, i8 {right})")

    def store(self, operands: Mapping[str, InstructionOperand]) -> None:
        """`tilestored`: the sums as elements of memory."""
        self.declare("void @llvm.x86.tilestored64(i8, ptr, i64)")
        place = self._place(operands["c"])
        tile = self._sum(operands["a"])
        self.function.effect(f"call void @llvm.x86.tilestored64(i8 {tile}, {place})")
        self.memory.forget(operands["c"].buffer)
        self.forget()

    def _sum(self, operand: InstructionOperand) -> int:
        """The register of a tile of sums."""
        self._configure()
        at = self.memory.indexes.linear(operand.start)
        if at.terms:
            raise ValueError(f"tiles of {operand.buffer.name} vary with a loop: unroll it")
        key = operand.buffer.name, at.constant
        if key not in self._sums:
            free = [tile for tile in range(_TILES) if tile not in self._sums.values()]
            if len(free) <= _OPERANDS:
                raise ValueError(
                    f"{operand.buffer.name} has more than {_TILES - _OPERANDS} tiles of sums"
                )
            self._sums[key] = free[0]
            self._operands.pop(free[0], None)
        return self._sums[key]

    def _loaded(self, operand: InstructionOperand) -> int:
        """The register that an operand is loaded into, unless it is there."""
        place = self._place(operand)
        content = f"{self.function.label} {place}"  # another block may come by another way
        for tile, known in self._operands.items():
            if known == content:
                self._operands[tile] = self._operands.pop(tile)  # not the next to give way
                return tile
        free = [
            n for n in range(_TILES) if n not in self._sums.values() and n not in self._operands
        ]
        tile = free[0] if free else next(iter(self._operands))
        self._operands.pop(tile, None)
        self._operands[tile] = content
        self.declare("void @llvm.x86.tileloadd64(i8, ptr, i64)")
        self.function.effect(f"call void @llvm.x86.tileloadd64(i8 {tile}, {place})")
        return tile

    def _place(self, operand: InstructionOperand) -> str:
        """Address and distance of rows, as loads and stores take them."""
        memory = self.memory
        pointer, _ = memory.address(operand.buffer, memory.indexes.linear(operand.start))
        return f"ptr {pointer}, i64 {operand.strides[0] * operand.buffer.item_bytes}"

    def _configure(self) -> None:
        """At the function's start, once: every register has all rows and columns.

        Every thread that runs it has registers of its own to configure.
        """
        if self._configuration:
            return
        values = [0] * _CONFIGURATION_BYTES
        values[0] = _PALETTE
        for tile in range(_TILES):
            values[_ROW_BYTES_AT + 2 * tile] = _ROW_BYTES
            values[_ROWS_AT + tile] = _ROWS
        self._configuration = place = self.function.alloca(_CONFIGURATION_BYTES)
        listed = ", ".join(f"i8 {value}" for value in values)
        self.declare("void @llvm.x86.ldtilecfg(ptr)")
        self.function.entry += [
            f"  store <{_CONFIGURATION_BYTES} x i8> <{listed}>, ptr {place}, align 64",
            self._configuring(),
        ]

    def _configuring(self) -> str:
        return f"  call void @llvm.x86.ldtilecfg(ptr {self._configuration})"
