"""An object file, read as data that may be damaged: every place is checked before it is used.

The form is that of the System V ABI, generic part and AMD64 supplement.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

SYMBOLS, RELOCATIONS, ZEROS = 2, 4, 8
"""Kinds of sections: the table of symbols; relocations; zeros, which the file does not hold."""

_HEADER = struct.Struct("<4s BBB 9x HH 20x Q 10x HHH")
"""Magic, class, order of bytes, version; kind and machine; place of the sections' headers, their
size and number, which section has their names."""

_SECTION = struct.Struct("<II Q 8x QQ II Q 8x")
"""Place of the name, kind; flags; place and size; link, info; alignment."""

_SYMBOL = struct.Struct("<I B x H Q 8x")
"""Place of the name; binding and type; section; value."""

_RELOCATION = struct.Struct("<Q II q")
"""Place; kind and symbol; what is added."""

_RELOCATABLE = b"\x7fELF", 2, 1, 1, 1, 62  # of 64 bits, little-endian, for x86-64
_LONGEST_NAME = 1024
_BROKEN = "no object file, or a part of one"


class Section(NamedTuple):
    """A part of the file: the content, empty where it is zeros, and what its header says."""

    name: str
    kind: int
    flags: int
    size: int
    content: memoryview
    link: int
    info: int
    alignment: int


class Symbol(NamedTuple):
    """A name for a place in a section, whose number is 0 where the symbol is of another file."""

    name: str
    is_global: bool
    section: int
    value: int


class Relocation(NamedTuple):
    """A place in a section that gets the address of a symbol, in the way that the kind says."""

    place: int
    kind: int
    symbol: Symbol
    addend: int


class ObjectFile:
    """The sections of one whole object file as LLVM writes it: their headers end it.

    Raises ValueError for any other data, here or when its tables are read.
    """

    def __init__(self, data: bytes) -> None:
        try:
            *form, start, size, count, names = _HEADER.unpack_from(data)
            if tuple(form) != _RELOCATABLE or size != _SECTION.size:
                raise ValueError(_BROKEN)
            if start + count * size != len(data):
                raise ValueError(_BROKEN)
            headers = [*_SECTION.iter_unpack(data[start:])]
            view = memoryview(data)
            texts = _content(view, headers[names])
        except (struct.error, IndexError) as error:
            raise ValueError(_BROKEN) from error
        self.sections = tuple(
            Section(_text(texts, name), kind, flags, length, _content(view, header), *rest)
            for header in headers
            for name, kind, flags, _, length, *rest in (header,)
        )
        if sum(len(section.content) for section in self.sections) > len(data):
            raise ValueError("an object file of sections that overlap")

    def symbols(self) -> Sequence[Symbol]:
        """The table of symbols."""
        tables = [section for section in self.sections if section.kind == SYMBOLS]
        if len(tables) != 1 or tables[0].link >= len(self.sections):
            raise ValueError("an object file without its symbols")
        texts = self.sections[tables[0].link].content
        found = []
        for name, info, section, value in _rows(_SYMBOL, tables[0]):
            found.append(Symbol(_text(texts, name), info >> 4 != 0, section, value))
        return found

    def relocations(self, symbols: Sequence[Symbol]) -> dict[int, list[Relocation]]:
        """By the number of the section that they change."""
        found: dict[int, list[Relocation]] = {}
        for section in self.sections:
            if section.kind != RELOCATIONS:
                continue
            for place, kind, symbol, addend in _rows(_RELOCATION, section):
                if symbol >= len(symbols):
                    raise ValueError("a relocation by a symbol that there is not")
                one = Relocation(place, kind, symbols[symbol], addend)
                found.setdefault(section.info, []).append(one)
        return found


def section(data: bytes, name: str) -> bytes | None:
    """The content of a section, None where there is none of that name.

    Raises ValueError unless the data is one whole object file as LLVM writes it.
    """
    found = (bytes(each.content) for each in ObjectFile(data).sections if each.name == name)
    return next(found, None)


def _content(data: memoryview, header: tuple[int, ...]) -> memoryview:
    _, kind, _, place, size, *_ = header
    if kind == ZEROS:
        return data[:0]
    if place + size > len(data):
        raise ValueError(_BROKEN)
    return data[place : place + size]


def _rows(form: struct.Struct, section: Section) -> Sequence[tuple[int, ...]]:
    if len(section.content) % form.size:
        raise ValueError(f"section {section.name}: a part of a row")
    return [*form.iter_unpack(section.content)]


def _text(texts: memoryview, place: int) -> str:
    found, end, _ = bytes(texts[place : place + _LONGEST_NAME]).partition(b"\0")
    if not end:
        raise ValueError("a name without an end")
    return found.decode()
