"""How much memory a network may need, checked before it is asked for."""

from __future__ import annotations

from tilewright.errors import UsageError

MOST_NETWORK_BYTES = 2**36
"""Of a network's constants and all that must be in memory with them: 64 GiB."""


def check_network_bytes(count: int, where: str) -> None:
    """Raise UsageError unless a network may need so many bytes of memory."""
    if count > MOST_NETWORK_BYTES:
        raise UsageError(
            f"the network needs {count} bytes of memory at once",
            where=where,
            remedy=f"a network may need at most {MOST_NETWORK_BYTES}: give it smaller inputs",
        )
