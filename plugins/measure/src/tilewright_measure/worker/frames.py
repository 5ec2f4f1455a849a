"""Messages between a process and its worker: JSON objects, each preceded by its length."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from typing import Any

_LENGTH = struct.Struct(">I")
_LONGEST = 256 << 20  # an artefact in base64 is the largest thing that crosses


class FrameError(Exception):
    """What arrived is no frame: too long, or no JSON object."""


def encode(message: Mapping[str, Any]) -> bytes:
    """One frame: four bytes of length (big endian), then JSON without NaN or infinities."""
    body = json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
    if len(body) > _LONGEST:
        raise FrameError(f"a message of {len(body)} bytes; {_LONGEST} are allowed")
    return _LENGTH.pack(len(body)) + body


class FrameBuffer:
    """Bytes as they come in, messages as they are complete.

    >>> buffer.feed(first_half)    # take() gives None
    >>> buffer.feed(second_half)   # take() gives the message, then None
    """

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, chunk: bytes) -> None:
        self._bytes += chunk

    def take(self) -> dict[str, Any] | None:
        """The next complete message, or None. Raises FrameError."""
        if len(self._bytes) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._bytes)
        if length > _LONGEST:
            raise FrameError(f"a frame claims {length} bytes; {_LONGEST} are allowed")
        end = _LENGTH.size + length
        if len(self._bytes) < end:
            return None
        body = bytes(self._bytes[_LENGTH.size : end])
        del self._bytes[:end]
        try:
            message = json.loads(body, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            raise FrameError(f"a frame without JSON: {error}") from error
        if not isinstance(message, dict):
            raise FrameError("a frame holds something else than an object")
        return message


def receive(descriptor: int, buffer: FrameBuffer) -> dict[str, Any] | None:
    """The next message of a blocking pipe; None where its writer has ended."""
    while (message := buffer.take()) is None:
        chunk = os.read(descriptor, 1 << 20)
        if not chunk:
            return None
        buffer.feed(chunk)
    return message


def send(descriptor: int, message: Mapping[str, Any]) -> None:
    """Write a message to a blocking pipe, whole."""
    rest = memoryview(encode(message))
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is no JSON")
