"""Object code to functions that run: object files laid into one piece of memory.

All sections lie in one mapping, so that what is addressed relative to an instruction is never too
far away, however large the process is. Functions of the process itself, which may be anywhere, are
reached through a table of addresses. Relocations are those of the System V ABI's AMD64 supplement.
Nothing that is loaded here unwinds, so that tables for that are left out.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from tilewright_x86.kernel.object_file import ZEROS, ObjectFile, Relocation, Section, Symbol
from tilewright_x86.machine.code_memory import PAGE_BYTES, READ, RUN, CodeMemory

_CONTENT, _UNWINDING = 1, 0x70000001  # kinds of sections
_WRITABLE, _IN_MEMORY, _CODE, _THREAD_LOCAL = 0x1, 0x2, 0x4, 0x400  # their flags
_ADDRESS, _NEAR, _CALL, _THROUGH_TABLE = 1, 2, 4, (9, 41, 42)  # kinds of relocations
_MOST_BYTES = 1 << 30  # half of what is reached from an instruction
_JUMP = b"\xff\x25"  # to the address that is so many bytes behind the instruction
_SLOT_BYTES = 8  # of an address in the table, and of the jump to it
_ALIGNMENTS = [1 << bits for bits in range(PAGE_BYTES.bit_length())]


class Loaded:
    """Object code in this process; addresses of its functions, until closed.

    Raises ValueError for object files that are damaged, have what is not known here, or call a
    function that is nowhere; UsageError where the system refuses memory for code.

    symbols  functions that the code may call, before those of the process
    """

    def __init__(
        self, objects: Sequence[bytes], symbols: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        image = _Image([ObjectFile(data) for data in objects], symbols)
        self._memory, self._addresses = image.memory, image.filled()

    def address(self, symbol: str) -> int:
        """Address of a function or variable. Raises ValueError where the code has none."""
        if symbol not in self._addresses:
            raise ValueError(f"the code has no {symbol!r}")
        return self._addresses[symbol]

    def close(self) -> None:
        """Free the code; calling into it afterwards is a fault."""
        self._memory.close()


def address_in_process(name: str) -> int:
    """Address of a function that this process has, such as one of libc. Raises ValueError."""
    try:
        found = ctypes.CDLL(None)[name]
    except AttributeError:
        raise ValueError(f"the code calls {name!r}, which is nowhere") from None
    return ctypes.cast(found, ctypes.c_void_p).value or 0


class _Place(NamedTuple):
    """In a section of one of the files."""

    file: int
    section: int
    offset: int


class _Change(NamedTuple):
    """A relocation; the target is the name of a function where none of the files has it."""

    at: _Place
    relocation: Relocation
    target: _Place | str


class _Image:
    """What lies where, from the start of the memory: code, constants, variables.

    Behind the code are jumps, behind the constants the table of addresses that they go to.
    """

    def __init__(self, files: Sequence[ObjectFile], outside: Mapping[str, int]) -> None:
        symbols = [file.symbols() for file in files]
        self._outside = outside
        self._sections = {
            (file, number): section
            for file, each in enumerate(files)
            for number, section in enumerate(each.sections)
            if _is_loaded(section)
        }
        self._defined = _defined(symbols)
        self._changes = [*self._found_changes(files, symbols)]
        targets = dict.fromkeys(
            change.target
            for change in self._changes
            if change.relocation.kind in _THROUGH_TABLE or isinstance(change.target, str)
        )
        self._slots = {target: slot * _SLOT_BYTES for slot, target in enumerate(targets)}
        self._starts: dict[tuple[int, int], int] = {}
        self._jumps = self._lay(0, _CODE)
        self._constants = self._behind_slots(self._jumps)
        self._table = self._lay(self._constants, 0)
        self._variables = self._behind_slots(self._table)
        self.memory = CodeMemory(self._lay(self._variables, _WRITABLE))

    def filled(self) -> dict[str, int]:
        """Addresses of the global symbols, when all is ready to run."""
        for key, section in self._sections.items():
            self.memory.write(self._starts[key], section.content)
        for target, slot in self._slots.items():
            jump, entry = self._jumps + slot, self._table + slot
            self.memory.write(jump, _JUMP)
            self.memory.write_number("<i", jump + 2, entry - (jump + 6))
            self.memory.write_number("<Q", entry, self._address(target))
        for change in self._changes:
            self._write(change)
        self.memory.protect(0, self._constants, RUN)
        self.memory.protect(self._constants, self._variables - self._constants, READ)
        return {name: self._address(place) for name, place in self._defined.items()}

    def _found_changes(
        self, files: Sequence[ObjectFile], symbols: Sequence[Sequence[Symbol]]
    ) -> Iterator[_Change]:
        for file, each in enumerate(files):
            for number, relocations in each.relocations(symbols[file]).items():
                if (file, number) not in self._sections:
                    continue
                for relocation in relocations:
                    symbol = relocation.symbol
                    own = _Place(file, symbol.section, symbol.value)
                    target = own if symbol.section else self._defined.get(symbol.name, symbol.name)
                    yield _Change(_Place(file, number, relocation.place), relocation, target)

    def _lay(self, start: int, kind: int) -> int:
        """Where the sections of a kind end that start there."""
        for key, section in self._sections.items():
            if section.flags & (_CODE | _WRITABLE) == kind:
                if section.alignment not in _ALIGNMENTS:
                    raise ValueError(f"section {section.name}: aligned to {section.alignment}")
                self._starts[key] = start = _aligned(start, section.alignment)
                start += section.size
        if start > _MOST_BYTES:
            raise ValueError("object code of more than a gigabyte")
        return _aligned(start, _SLOT_BYTES)

    def _behind_slots(self, start: int) -> int:
        """The first page behind the slots that start there."""
        return _aligned(start + len(self._slots) * _SLOT_BYTES, PAGE_BYTES)

    def _place(self, place: _Place, size: int = 0) -> int:
        """From the start of the memory. Raises ValueError unless so many bytes are there."""
        section = self._sections.get(place[:2])
        if section is None or place.offset + size > section.size:
            raise ValueError("an object file refers to what is not loaded of it")
        return self._starts[place[:2]] + place.offset

    def _address(self, target: _Place | str) -> int:
        if isinstance(target, _Place):
            return self.memory.address + self._place(target)
        return self._outside[target] if target in self._outside else address_in_process(target)

    def _write(self, change: _Change) -> None:
        at, (_, kind, symbol, addend), target = change
        if kind == _ADDRESS:
            self.memory.write_number("<Q", self._place(at, 8), self._address(target) + addend)
            return
        place = self._place(at, 4)
        if kind in _THROUGH_TABLE:
            goal = self._table + self._slots[target]
        elif kind in (_CALL, _NEAR) and isinstance(target, _Place):
            goal = self._place(target)
        elif kind == _CALL:
            goal = self._jumps + self._slots[target]
        else:
            raise ValueError(f"relocation of type {kind}, by the symbol {symbol.name!r}")
        self.memory.write_number("<i", place, goal + addend - place)


def _is_loaded(section: Section) -> bool:
    """Whether it belongs into memory. Raises ValueError for what is not known here."""
    if not section.flags & _IN_MEMORY or section.kind == _UNWINDING:
        return False
    if (
        section.kind not in (_CONTENT, ZEROS)
        or section.flags & _THREAD_LOCAL
        or section.flags & (_CODE | _WRITABLE) == _CODE | _WRITABLE
    ):
        raise ValueError(f"section {section.name}: of type {section.kind}, flags {section.flags}")
    return True


def _defined(symbols: Sequence[Sequence[Symbol]]) -> dict[str, _Place]:
    """Where the global symbols are."""
    found: dict[str, _Place] = {}
    for file, every in enumerate(symbols):
        for symbol in every:
            if symbol.is_global and symbol.section:
                if symbol.name in found:
                    raise ValueError(f"two object files have {symbol.name!r}")
                found[symbol.name] = _Place(file, symbol.section, symbol.value)
    return found


def _aligned(place: int, to: int) -> int:
    return -(-place // to) * to
