"""What an object file says of itself, read without loading it: LLVM dies of one that is damaged."""

from __future__ import annotations

import struct

_HEADER = struct.Struct("<4s 36x Q 10x HHH")
"""ELF, 64 bits: magic; place of the sections' headers, their size and number, that of the names."""

_SECTION = struct.Struct("<I 20x QQ 24x")
"""Place of its name among the names; its place and size."""


def section(data: bytes, name: str) -> bytes | None:
    """The content of a section, None where there is none of that name.

    Raises ValueError unless the data is one whole object file as LLVM writes it: the headers of its
    sections end it.
    """
    try:
        magic, start, size, count, names = _HEADER.unpack_from(data)
        if magic != b"\x7fELF" or size != _SECTION.size or start + count * size != len(data):
            raise ValueError("no object file, or a part of one")
        headers = [_SECTION.unpack_from(data, start + size * place) for place in range(count)]
        _, first, length = headers[names]
    except (struct.error, IndexError) as error:
        raise ValueError("no object file, or a part of one") from error
    texts = data[first : first + length]
    for place, where, extent in headers:
        if texts[place : texts.find(b"\0", place)] == name.encode():
            return data[where : where + extent]
    return None
