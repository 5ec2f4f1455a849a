"""Who was timed in a benchmark: the network, and its peers in turns with it."""

from __future__ import annotations

from tilewright_report.data.fields import Fields

OURS = "tilewright"


def systems(entry: Fields) -> list[tuple[str, Fields]]:
    """Ours first, then the peers that have a median."""
    peers = [(name, Fields(told)) for name, told in entry.fields("peers").items()]
    every = [(OURS, entry.fields(OURS)), *peers]
    return [(name, told) for name, told in every if told.number("median_ms") is not None]
