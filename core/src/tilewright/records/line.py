"""One JSON object a line, its checksum last: damage is noticed, and costs one line."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping
from typing import Any

MAX_LINE_BYTES = 2**20
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
    if len(line) >= MAX_LINE_BYTES:
        raise BadLineError(f"{len(line)} bytes, the limit is {MAX_LINE_BYTES}")
    body = line[:-_TAIL]
    if line[-_TAIL:] != b'%b%08x"}' % (_MARK, zlib.crc32(body)):
        raise BadLineError("the checksum is missing or wrong")
    try:
        data = _DECODER.decode(line.decode())
    except RecursionError:
        raise BadLineError("nested too deeply") from None
    except ValueError as error:
        raise BadLineError(f"no JSON: {error}") from None
    if not isinstance(data, dict):
        raise BadLineError("no JSON object")
    return data


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise BadLineError(f"{text} is no finite number")
    return value


# NaN and Infinity are words that JSON does not have; 1e999 is one that it has.
_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)
