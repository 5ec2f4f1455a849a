"""Small moves of schedules that every plan makes."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.schedule.schedule import Schedule

_SMALL = 4


def split_axes(
    s: Schedule, stage: str, axes: Sequence[str], factors: Sequence[Sequence[int]]
) -> tuple[Schedule, list[tuple[str, ...]]]:
    """Every axis split by its factors: (schedule, loops level by level, outermost first)."""
    names: list[list[str]] = []
    for axis, inner in zip(axes, factors, strict=True):
        s = s.split(stage, axis, list(inner))
        names.append([f"{axis}.{level}" for level in range(len(inner) + 1)])
    return s, list(zip(*names, strict=True))


def vectorized(s: Schedule, stage: str, loop: str, width: int) -> tuple[Schedule, list[str]]:
    """The loop cut into vectors: (schedule, [loop over vectors, lanes])."""
    s = s.split(stage, loop, [width])
    parts = [f"{loop}.0", f"{loop}.1"]
    return s.vectorize(stage, parts[1]), parts


def cached(s: Schedule, stage: str) -> tuple[Schedule, str]:
    """The stage's computation as a separate stage: (schedule, its name)."""
    before = s.stages
    s = s.cache_write(stage, "register")
    return s, next(name for name in s.stages if name not in before)


def fused(s: Schedule, stage: str, loops: Sequence[str]) -> tuple[Schedule, str]:
    """Neighbouring loops as one, of none a loop that runs once: (schedule, its name)."""
    if len(loops) == 1:
        return s, loops[0]
    return s.fuse(stage, list(loops)), "@".join(loops) or "once"


def inlined_behind(s: Schedule, stage: str) -> Schedule:
    """What lies between a stage and the last one is computed where the last one stores."""
    names = [tensor.name for tensor in s.dag.computes]
    for name in names[names.index(stage) + 1 : -1]:
        s = s.inline(name)
    return s


def memory_nest(s: Schedule, stage: str, layout: Layout, lanes: int) -> Schedule:
    """A stage of its own, in the order of its memory: parallel outside, vectors innermost."""
    axes = s.loops(stage)[: len(s.stages[stage].axes)]
    if not axes:
        return s
    shape = s.stages[stage].shape
    order: list[str] = []
    for name, block in zip(axes, layout.blocks, strict=True):
        if block > 1:
            s = s.split(stage, name, [block])
    for dim in layout.dims:
        name = axes[dim.axis]
        order.append(f"{name}.{int(dim.extent > 0)}" if layout.blocks[dim.axis] > 1 else name)
    s = s.reorder(stage, order)
    extents = layout.physical_shape(shape)
    inner = max((d for d, e in enumerate(extents) if e > 1), default=len(order) - 1)
    if extents[inner] >= _SMALL:
        s, parts = vectorized(s, stage, order[inner], lanes)
        order[inner : inner + 1] = parts
    around = order[:inner]
    if around:
        s, one = fused(s, stage, around)
        s = s.parallel(stage, one)
    return s
