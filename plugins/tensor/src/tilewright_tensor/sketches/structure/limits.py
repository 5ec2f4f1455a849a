"""What the rules need to know of a target."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes of a processor that bound what is worth trying.

    lanes         elements of a vector
    registers     vector registers, one of which is left to addresses and broadcasts
    cache_bytes   scratch that one thread keeps close at hand
    threads       threads that share the work
    """

    lanes: int
    registers: int
    cache_bytes: int
    threads: int
