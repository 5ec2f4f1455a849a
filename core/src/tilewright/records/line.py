"""One JSON object a line, its checksum last: damage is noticed, and costs one line."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterator, Mapping
from io import BufferedIOBase
from typing import Any

MAX_LINE_BYTES = 2**20
MAX_DEPTH = 32
_MARK = b',"crc":"'
_TAIL = len(_MARK) + 10


class BadLineError(ValueError):
    """A line that is no record; the text says why."""


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


def parse_object(text: bytes) -> dict[str, Any]:
    """A JSON object of finite numbers, at most 32 deep. Raises BadLineError for anything else."""
    try:
        decoded = text.decode()
        data, end = _DECODER.raw_decode(decoded)
    except RecursionError:
        raise BadLineError("nested too deeply") from None
    except ValueError as error:
        raise BadLineError(f"no JSON: {error}") from None
    if end != len(decoded):
        raise BadLineError("more than one JSON value")
    if not isinstance(data, dict):
        raise BadLineError("no JSON object")
    # Looked into only where there are brackets enough.
    if text.count(b"[") + text.count(b"{") > MAX_DEPTH and not _is_flat(data, MAX_DEPTH):
        raise BadLineError(f"nested deeper than {MAX_DEPTH}")
    return data


def _is_flat(value: Any, depth: int) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return True
    return depth > 0 and all(_is_flat(item, depth - 1) for item in value)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise BadLineError(f"{text} is no finite number")
    return value


# NaN and Infinity are words that JSON does not have; 1e999 is one that it has.
_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)
