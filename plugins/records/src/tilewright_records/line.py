"""One JSON object a line, its checksum last: damage is noticed, and costs one line."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from io import BufferedIOBase
from typing import Any

from tilewright.json_object import MAX_LINE_BYTES, BadLineError, parse_object

_MARK = b',"crc":"'
_TAIL = len(_MARK) + 10


def seal(data: Mapping[str, Any]) -> bytes:
    """The line of an object with members, newline included.

    Its last member `crc` is the CRC-32, as 8 hexadecimal digits, of the bytes before the comma in
    front of it. Raises ValueError for NaN, infinities and lines over 1 MiB.
    """
    body = json.dumps(data, separators=(",", ":"), allow_nan=False).encode()[:-1]
    line = b'%b%b%08x"}\n' % (body, _MARK, zlib.crc32(body))
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"a record of {len(line)} bytes; the limit is {MAX_LINE_BYTES}")
    return line


def unseal(line: bytes) -> dict[str, Any]:
    """The object of a line without its newline. Raises BadLineError for what no `seal` wrote."""
    return parse_object(sealed(line) + b"}")


def sealed(line: bytes) -> bytes:
    """A line without its newline, its checksum and last brace. Raises BadLineError for damage.

    What another system's editor put before the newline is no damage.
    """
    line = line.removesuffix(b"\r")
    if len(line) >= MAX_LINE_BYTES:
        raise BadLineError(f"{len(line)} bytes, the limit is {MAX_LINE_BYTES}")
    body = line[:-_TAIL]
    if line[-_TAIL:] != b'%b%08x"}' % (_MARK, zlib.crc32(body)):
        raise BadLineError("the checksum is missing or wrong")
    return body


def whole_lines(file: BufferedIOBase) -> Iterator[bytes]:
    """Lines without their newlines, but not a last one that lost its end.

    Of a line beyond the limit every piece is one, and a bad one: no file can fill the memory.
    """
    while line := file.readline(MAX_LINE_BYTES):
        if not line.endswith(b"\n") and len(line) < MAX_LINE_BYTES:
            return
        yield line.removesuffix(b"\n")
