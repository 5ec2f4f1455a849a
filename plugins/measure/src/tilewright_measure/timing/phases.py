"""Where a trial's time goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def phase(timings: dict[str, float], name: str) -> Iterator[None]:
    """Add the seconds that the block takes under a name, also where it raises."""
    started = time.perf_counter()
    try:
        yield
    finally:
        seconds = timings.get(name, 0.0) + time.perf_counter() - started
        timings[name] = round(seconds, 6)  # further digits are noise in a record
