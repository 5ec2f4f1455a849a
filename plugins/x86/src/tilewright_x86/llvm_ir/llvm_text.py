"""One LLVM function as text: names, scopes, and values that are defined once.

A builder-object tree costs several times more than text (see the measurements in the project's
notes), so instructions are strings. What makes strings enough is the scope discipline here:
`define` never writes an instruction twice while its first result is still in reach, and `hoist`
puts an instruction at the head of the outer scope where its operands are known. So the text needs
neither common-subexpression elimination nor loop-invariant code motion afterwards.
"""

from __future__ import annotations

import struct
from typing import Any

from tilewright_tensor.expressions.dtype import is_float

LLVM_TYPES = {
    "bfloat16": "i16", "float16": "half", "float32": "float", "float64": "double",
    "int8": "i8", "uint8": "i8", "int16": "i16", "uint16": "i16", "int32": "i32", "uint32": "i32",
    "int64": "i64", "uint64": "i64", "bool": "i1",
}  # fmt: skip
"""Of a dtype's elements. A bfloat16 is its bits: LLVM calls a function for most of what it does."""


def memory_type(dtype: str) -> str:
    """LLVM type of an element in memory; a bool is a byte there."""
    return "i8" if dtype == "bool" else LLVM_TYPES[dtype]


def type_of(dtype: str, width: int) -> str:
    """LLVM type of a scalar (width 0) or a vector of a dtype."""
    return f"<{width} x {LLVM_TYPES[dtype]}>" if width else LLVM_TYPES[dtype]


def mangled(item: str) -> str:
    """How an intrinsic's name spells an element type."""
    return {"half": "f16", "float": "f32", "double": "f64"}.get(item, item)


def constant(value: float, dtype: str) -> str:
    """A literal of a dtype, exact."""
    if dtype == "bool":
        return "true" if value else "false"
    if not is_float(dtype):
        return str(int(value))
    if dtype in ("float32", "bfloat16"):
        try:
            value = struct.unpack("<f", struct.pack("<f", value))[0]
        except OverflowError:
            value = float("inf") if value > 0 else float("-inf")
    if dtype == "bfloat16":
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
        if value != value:  # noqa: PLR0124  only NaN differs from itself
            return str(bits >> 16 | 0x40)
        return str((bits + 0x7FFF + (bits >> 16 & 1)) >> 16)
    if dtype == "float16":
        return f"0xH{struct.unpack('<H', struct.pack('<e', value))[0]:04X}"
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


class _Scope:
    """A region that one block dominates: a loop body, a guarded body, the function."""

    __slots__ = ("head", "keys")

    def __init__(self) -> None:
        self.head: list[Any] = []
        self.keys: list[str] = []


class FunctionText:
    """The body of one function while it is being written."""

    def __init__(self) -> None:
        self.entry: list[str] = []
        self.label = "entry"
        self._count = 0
        self._known: dict[str, str] = {}
        root = _Scope()
        self._scopes = [root]
        self.lines: list[Any] = [root.head]

    @property
    def depth(self) -> int:
        """Number of the innermost open scope; 0 is the function itself."""
        return len(self._scopes) - 1

    def fresh(self, prefix: str = "v") -> str:
        """A name not used before, without its sigil."""
        self._count += 1
        return f"{prefix}{self._count}"

    def define(self, instruction: str) -> str:
        """Name of an instruction's result; written here unless an equal one is in reach.

        Pure instructions only.
        """
        name = self._known.get(instruction)
        if name is None:
            self._count += 1
            name = self._known[instruction] = f"%v{self._count}"
            self._scopes[-1].keys.append(instruction)
            self.lines.append(f"  {name} = {instruction}")
        return name

    def instruction_of(self, name: str) -> str:
        """The instruction of a result that `define` gave and that is in reach, or nothing."""
        return next((text for text, known in self._known.items() if known == name), "")

    def hoist(self, instruction: str, depth: int) -> str:
        """As `define`, but at the head of the scope of that depth, where the operands are known.

        What is of a depth that no scope has is known only here.
        """
        if depth >= len(self._scopes):
            return self.define(instruction)
        name = self._known.get(instruction)
        if name is None:
            self._count += 1
            name = self._known[instruction] = f"%v{self._count}"
            scope = self._scopes[depth]
            scope.keys.append(instruction)
            scope.head.append(f"  {name} = {instruction}")
        return name

    def effect(self, instruction: str) -> None:
        """An instruction without a result."""
        self.lines.append(f"  {instruction}")

    def value(self, instruction: str) -> str:
        """The result of an instruction that is not merged with an equal one, such as a load."""
        self._count += 1
        self.lines.append(f"  %v{self._count} = {instruction}")
        return f"%v{self._count}"

    def block(self, label: str) -> None:
        """Begin a block; the block before must have ended in a branch."""
        self.lines.append(f"{label}:")
        self.label = label

    def open_scope(self) -> None:
        """Begin a scope at the present place: the start of a block, after its phis."""
        scope = _Scope()
        self._scopes.append(scope)
        self.lines.append(scope.head)

    def close_scope(self) -> None:
        """End the innermost scope; its values are out of reach."""
        for key in self._scopes.pop().keys:
            del self._known[key]

    def alloca(self, bytes_: int) -> str:
        """Address of stack memory of the function, 64-byte aligned."""
        name = f"%{self.fresh('stack')}"
        self.entry.append(f"  {name} = alloca [{bytes_} x i8], align 64")
        return name

    def text(self, signature: str) -> str:
        """The whole function."""
        flat: list[str] = [f"define {signature} {{", "entry:", *self.entry]
        _flatten(self.lines, flat)
        flat.append("}")
        return "\n".join(flat)


def _flatten(lines: list[Any], into: list[str]) -> None:
    for line in lines:
        if isinstance(line, str):
            into.append(line)
        else:
            _flatten(line, into)
