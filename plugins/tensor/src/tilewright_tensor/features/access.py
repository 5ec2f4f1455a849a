"""What one store reads and writes, level by level of its loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright_tensor.expressions.affine import Affine
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Load, leaves
from tilewright_tensor.features.footprint import (
    LINE_BYTES,
    Footprint,
    footprint,
    strides,
    variables,
)
from tilewright_tensor.ir.loop_ir import Loop, Store


@dataclass(frozen=True, slots=True)
class Access:
    """A buffer at some indexes, as one store uses it.

    reads, writes   how often in one execution
    levels          what is touched from loop `i` inwards for every loop, and last at one point
    moved           whether the place depends on loop `i`
    stride          bytes between neighbours in the innermost loop, 0 where that stands still
    """

    buffer: Buffer
    reads: int
    writes: int
    levels: tuple[Footprint, ...]
    moved: tuple[bool, ...]
    stride: int

    @classmethod
    def of(
        cls,
        buffer: Buffer,
        indices: Sequence[Affine],
        loops: Sequence[Loop],
        reads: int,
        writes: int,
    ) -> Access:
        """The access at the indexes within loops, outermost first."""
        terms = strides(buffer, indices)
        followed = [(step, variables(atom)) for step, atom in terms]
        per_line = max(1, LINE_BYTES // buffer.item_bytes)
        running: dict[str, int] = {}
        here = Footprint(1, 1)
        levels, stride = [here], 0
        moved: list[bool] = []
        for loop in reversed(loops):
            name, extent = loop.var.name, loop.extent
            running[name] = extent
            steps = [step for step, names in followed if name in names]
            if steps:
                wider = footprint(terms, running, per_line)
                here = Footprint(
                    min(wider.elements, here.elements * extent, buffer.size),
                    min(wider.lines, here.lines * extent),
                )
                if not moved:
                    stride = steps[0] * buffer.item_bytes
            levels.append(here)
            moved.append(bool(steps))
        return cls(buffer, reads, writes, tuple(levels[::-1]), tuple(moved[::-1]), stride)


def accesses(store: Store, loops: Sequence[Loop]) -> list[Access]:
    """Every distinct place that a store touches: what it writes, then what it loads, in order."""
    places: list[tuple[Buffer, tuple[Affine, ...]]] = [(store.buffer, store.indices)]
    reads = [0]
    for leaf in leaves(store.value):
        if not isinstance(leaf, Load):
            continue
        place = leaf.buffer, leaf.indices
        if place in places:
            reads[places.index(place)] += 1
        else:
            places.append(place)
            reads.append(1)
    return [
        Access.of(buffer, indices, loops, count, int(number == 0))
        for number, ((buffer, indices), count) in enumerate(zip(places, reads, strict=True))
    ]
