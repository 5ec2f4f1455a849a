"""The processor cores that a worker keeps to."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tilewright.errors import UsageError


def parse_cores(text: str) -> tuple[int, ...]:
    """The numbers of `0-7` or `0,2,4-5`. Raises UsageError, also for cores that are not ours."""
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not (first.isdigit() and (last.isdigit() or not dash)):
            raise UsageError(
                f"expected numbers of cores, as in 0-7 or 0,2, got {text!r}", where="--cores"
            )
        found.update(range(int(first), int(last or first) + 1))
    allowed = os.sched_getaffinity(0)
    if missing := sorted(found - allowed):
        raise UsageError(
            f"this process may not use {', '.join(map(str, missing))}",
            where="--cores",
            remedy=f"of {cores_text(sorted(allowed))}",
        )
    return tuple(sorted(found))


def cores_text(cores: Sequence[int]) -> str:
    """`0-3,6`, the shortest text of ascending numbers."""
    runs: list[list[int]] = []
    for core in cores:
        if runs and core == runs[-1][-1] + 1:
            runs[-1].append(core)
        else:
            runs.append([core])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def split_cores(workers: int) -> list[tuple[int, ...]]:
    """The cores of this process in as many equal parts. Raises UsageError where they are fewer."""
    cores = sorted(os.sched_getaffinity(0))
    if workers > len(cores):
        raise UsageError(
            f"{workers} workers on {len(cores)} cores: each needs one of its own",
            where="--workers",
            remedy=f"ask for at most {len(cores)}",
        )
    each = len(cores) // workers
    return [tuple(cores[number * each : (number + 1) * each]) for number in range(workers)]
