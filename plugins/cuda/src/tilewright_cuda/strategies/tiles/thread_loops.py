"""Loops over blocks and threads, as the strategies here have them in common."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import fused


def over_threads(
    s: Schedule, stage: str, loops: Sequence[str], threads: int
) -> tuple[Schedule, str]:
    """(schedule, the thread's loop): the loops over blocks of so many threads."""
    s, one = fused(s, stage, loops)
    s = s.split(stage, one, [threads])
    s = s.bind(stage, f"{one}.0", "blockIdx.x").bind(stage, f"{one}.1", "threadIdx.x")
    return s, f"{one}.1"


def one_thread_an_element(s: Schedule, stage: str, block: int) -> Schedule:
    """A launch in which every thread computes an element; a reduction goes on in a register."""
    found = s.stages[stage]
    if found.combiner is not None:
        s = s.cache_write(stage, "register")
    s, thread = over_threads(s, stage, s.loops(stage), min(block, max(1, prod(found.shape))))
    if found.combiner is not None:
        s = s.compute_at(f"{stage}.register", stage, thread, "register")
    return s
