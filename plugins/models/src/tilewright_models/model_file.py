"""A model's file is data of others: unpacked and decoded with bounds, or refused in a line."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, TypeVar

from tilewright.errors import UsageError
from tilewright.json_object import BadLineError, parse_object, sensible
from tilewright.plugins.loading.distributions import installer

_Made = TypeVar("_Made")

MOST_BYTES = 32 << 20
"""Of a file, unpacked."""


def unpacked(packed: bytes) -> dict[str, Any]:
    """The JSON object of a file packed by gzip or zlib. Raises BadLineError for anything else."""
    unpacking = zlib.decompressobj(wbits=47)  # a header of gzip or of zlib
    try:
        plain = unpacking.decompress(packed, MOST_BYTES)
    except zlib.error as error:
        raise BadLineError(str(error)) from None
    if not unpacking.eof:
        raise BadLineError(f"it is cut off, or has more than {MOST_BYTES} bytes")
    return parse_object(plain)


def decoded(make: Callable[[Any], _Made], data: Any, where: str) -> _Made:
    """What `make` makes of some of a file. Raises UsageError for what it cannot use."""
    try:
        made: _Made = sensible(make, data)
    except BadLineError as error:
        raise UsageError(f"no cost model: {error}", where=where, remedy=remedy()) from None
    return made


def remedy() -> str:
    """What brings a file that can be read."""
    return f"{installer()} install --upgrade tilewright-models"
