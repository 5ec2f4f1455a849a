"""What crosses between a driver and its workers: JSON as bytes; nothing of it is pickled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tilewright.errors import UsageError

PROTOCOL = 2
"""Raised with every change of what a request or a reply holds."""

ANNOUNCEMENT, STATE = "tilewright", "tilewright-state"
"""Names under which Dask's scheduler tells what a worker said when it came, and says since."""


def encode(message: Mapping[str, Any]) -> bytes:
    """A message as bytes."""
    return _ENCODER.encode(message).encode()


def decode(data: bytes) -> dict[str, Any]:
    """The message of some bytes. Raises ValueError for what is none."""
    message = json.loads(data)
    if not isinstance(message, dict):
        raise ValueError("expected a JSON object")  # noqa: TRY004  as for bytes that are no JSON
    return message


def refusal(error: UsageError) -> dict[str, Any]:
    """The reply where what was asked for cannot be."""
    return {
        "refused": {"message": error.message, "where": error.where, "remedy": error.remedy},
    }


def told_mistake(reply: Mapping[str, Any], whose: str) -> UsageError | None:
    """The mistake that a reply tells, as said by that device; None where it is fine."""
    if refused := reply.get("refused"):
        where = ": ".join(filter(None, (whose, refused["where"])))
        return UsageError(refused["message"], where=where, remedy=refused["remedy"])
    if failed := reply.get("failed"):
        last = failed.rstrip().rpartition("\n")[2]
        # Of a full disk there, and the like, where it was met says nothing.
        return UsageError(
            f"its worker failed: {last if last.startswith('OSError') else failed}", where=whose
        )
    return None


def raise_mistake(reply: Mapping[str, Any], whose: str) -> None:
    """Raise it where there is one."""
    if (error := told_mistake(reply, whose)) is not None:
        raise error


_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=dict)  # of mappings
