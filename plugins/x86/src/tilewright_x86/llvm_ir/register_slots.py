"""Buffers of scope `register` as SSA values.

A buffer is cut into slots as it is first written: a vector store makes a slot of its valid lanes, a
scalar store one of a single element. A program that later cuts it otherwise, or indexes it by a
rolled loop, cannot be held in registers this way: `NeedsMemoryError` names the buffer, and the
kernel is written again with that buffer on the stack.
"""

from __future__ import annotations

from typing import NamedTuple

from tilewright_tensor.expressions.buffer import Buffer
from tilewright_x86.llvm_ir.llvm_text import LLVM_TYPES, FunctionText, type_of
from tilewright_x86.llvm_ir.transposition import transposed


class NeedsMemoryError(Exception):
    """A register buffer that has to lie in memory."""

    def __init__(self, buffer: Buffer) -> None:
        super().__init__(buffer.name)
        self.buffer = buffer


class Slot(NamedTuple):
    """Present value of `valid` elements; width 0 is a scalar."""

    value: str
    width: int
    valid: int


class RegisterSlots:
    """What every register buffer holds at the present place of a function."""

    def __init__(self, function: FunctionText) -> None:
        self.function = function
        self.held: dict[str, dict[int, Slot]] = {}

    def read_vector(self, buffer: Buffer, start: int, width: int, valid: int) -> str:
        if not self.has_vector(buffer, start, width, valid):
            raise NeedsMemoryError(buffer)
        return self._slots(buffer)[start].value

    def read_across(
        self, buffer: Buffer, start: int, stride: int, width: int, valid: int
    ) -> str | None:
        """One element each of `valid` slots that are `stride` apart, as a vector of `width`.

        The slots are transposed as a whole; None where they are not vectors of one kind.
        """
        first, kind = self._covering(buffer, start)
        slots = [self._slots(buffer).get(first + stride * lane) for lane in range(valid)]
        alike = all(slot is not None and slot[1:] == kind[1:] for slot in slots)
        if kind.width < 2 or width < 2 or not alike:
            return None
        rows = [slot.value for slot in slots if slot] + ["poison"] * (width - valid)
        columns = transposed(self.function, rows, kind.width, LLVM_TYPES[buffer.dtype])
        return columns[start - first]

    def read_scalar(self, buffer: Buffer, start: int) -> str:
        found, slot = self._covering(buffer, start)
        if slot.width == 0:
            return slot.value
        kind = type_of(buffer.dtype, slot.width)
        return self.function.define(f"extractelement {kind} {slot.value}, i32 {start - found}")

    def write_vector(self, buffer: Buffer, start: int, width: int, valid: int, value: str) -> None:
        slots = self._slots(buffer)
        slot = slots.get(start)
        if slot is None:
            if any(start < at + s.valid and at < start + valid for at, s in slots.items()):
                raise NeedsMemoryError(buffer)
        elif (slot.width, slot.valid) != (width, valid):
            raise NeedsMemoryError(buffer)
        slots[start] = Slot(value, width, valid)

    def write_scalar(self, buffer: Buffer, start: int, value: str) -> None:
        slots = self._slots(buffer)
        try:
            found, slot = self._covering(buffer, start)
        except NeedsMemoryError:
            slots[start] = Slot(value, 0, 1)
            return
        if slot.width:
            kind, item = type_of(buffer.dtype, slot.width), LLVM_TYPES[buffer.dtype]
            value = self.function.define(
                f"insertelement {kind} {slot.value}, {item} {value}, i32 {start - found}"
            )
        slots[found] = slot._replace(value=value)

    def has_vector(self, buffer: Buffer, start: int, width: int, valid: int) -> bool:
        """Whether `read_vector` would succeed."""
        slot = self._slots(buffer).get(start)
        return slot is not None and (slot.width, slot.valid) == (width, valid)

    def _slots(self, buffer: Buffer) -> dict[int, Slot]:
        slots = self.held.get(buffer.name)
        if slots is None:
            raise NeedsMemoryError(buffer)
        return slots

    def _covering(self, buffer: Buffer, start: int) -> tuple[int, Slot]:
        slots = self._slots(buffer)
        slot = slots.get(start)
        if slot is not None:
            return start, slot
        for at, slot in slots.items():
            if at <= start < at + slot.valid:
                return at, slot
        raise NeedsMemoryError(buffer)

    # --- control flow ---

    def snapshot(self, buffers: frozenset[Buffer]) -> dict[Buffer, dict[int, Slot]]:
        """Copies of what some of the buffers hold."""
        return {b: dict(self.held[b.name]) for b in buffers if b.name in self.held}

    def phis_at_loop(self, buffers: frozenset[Buffer]) -> list[tuple[Buffer, int, Slot, str]]:
        """Give every held slot of the buffers a fresh name, for the head of a loop.

        (buffer, start, before, name).
        """
        made = []
        for buffer in buffers:
            slots = self.held.get(buffer.name, {})
            for start, slot in slots.items():
                name = f"%{self.function.fresh('r')}"
                made.append((buffer, start, slot, name))
                slots[start] = slot._replace(value=name)
        return made

    def loop_phi_lines(
        self, made: list[tuple[Buffer, int, Slot, str]], before: str, latch: str
    ) -> list[str]:
        """The phi instructions that belong to `phis_at_loop`, once the body is written."""
        lines = []
        for buffer, start, slot, name in made:
            now = self.held[buffer.name].get(start)
            if now is None or (now.width, now.valid) != (slot.width, slot.valid):
                raise NeedsMemoryError(buffer)
            lines.append(
                f"  {name} = phi {type_of(buffer.dtype, slot.width)} [ {slot.value}, %{before} ], "
                f"[ {now.value}, %{latch} ]"
            )
        return lines

    def merge(self, skipped: dict[Buffer, dict[int, Slot]], skipped_label: str, label: str) -> bool:
        """Join a guarded body with the path around it; tells whether their values differ anywhere.

        The phis are written at the present place.
        """
        differ = False
        for buffer, before in skipped.items():
            slots = self.held[buffer.name]
            for start, slot in slots.items():
                old = before.get(start)
                if old is not None and (old.width, old.valid) != (slot.width, slot.valid):
                    raise NeedsMemoryError(buffer)
                if old is None or old.value != slot.value:
                    differ = True
                    kind = type_of(buffer.dtype, slot.width)
                    value = self.function.value(
                        f"phi {kind} [ {slot.value}, %{label} ], "
                        f"[ {old.value if old else 'undef'}, %{skipped_label} ]"
                    )
                    slots[start] = slot._replace(value=value)
        return differ
