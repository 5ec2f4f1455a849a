"""Which blocks of tiles and of filters a Winograd convolution may be made in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import log2, prod
from typing import Any

from tilewright.space.alternative import Alternative
from tilewright.space.entities.split import divisors
from tilewright.space.feasible.constraint import holds
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.task import Task
from tilewright_tensor.algorithms.winograd_convolution import WinogradConvolution
from tilewright_tensor.expressions.dtype import ITEM_BYTES
from tilewright_x86.machine.isa import isa_of
from tilewright_x86.strategies.tiles.vector_blocks import (
    CHAINS,
    channel_blocks,
    lanes,
    panel_counts,
    registers,
)

_SCRATCH_BYTES = (4 << 20) - (64 << 10)
"""Of local memory of a thread; the rest is for what is kept in registers where they suffice."""
_VECTORS, _PANELS, _TILES = 6, 4, 112
"""Most vectors of a panel, panels that are multiplied together unless all are, and tiles."""
_ROWS = 2
"""Choices for each number of vectors."""
_NEAR_BYTES, _KEPT_BYTES = 1 << 20, 512 << 10
"""Of filters that stay in the second-level cache of a core; of a block with its filters there."""
_FETCHED, _FETCHED_NARROW = 10, 4
"""What it takes to fetch a vector of far filters, in tiles: of 512 bits, and of fewer.

Measured 3 to 8 on Zen 4; peak over bandwidth of memory gives 7 there, 20 on the Emerald Rapids.
"""
_FAR, _MOST_FAR = 0.05, 3
"""By what share a block takes longer that does not stay there, and once more for each time that it
is twice as large, so many times at most."""
_LOADED = 0.1
"""By what share a multiply-add takes longer for each vector that is loaded for it."""
_TRANSFORMED = 8
"""What it takes to transform a tile, in filters with which it might be multiplied meanwhile."""


@dataclass(frozen=True, slots=True)
class TileBlocks:
    """Of a convolution: its tiles in all images, channels in whole vectors, vectors of filters.

    points     of a tile, each of which is multiplied
    width      filters of a vector
    registers  for a register tile
    far        what it takes to fetch a vector of far filters, in tiles multiplied meanwhile
    """

    points: int
    tiles: int
    channels: int
    vectors: int
    width: int
    registers: int
    far: int
    threads: int

    @classmethod
    def of(cls, task: Task, form: WinogradConvolution) -> TileBlocks:
        """Of a task's convolution."""
        block_ic, block_oc = (
            min(lanes(task), channel_blocks(shape[1], lanes(task))[0])
            for shape in (form.image, form.result)
        )
        return cls(
            form.matrices.inputs**2,
            form.places,
            -(-form.channels // block_ic) * block_ic,
            -(-form.result[1] // block_oc),
            block_oc,
            registers(task) - 1,
            _FETCHED if isa_of(task.target).vector_bits == 512 else _FETCHED_NARROW,
            task.target.threads,
        )

    def define_knobs(self, knobs: Knobs) -> None:
        """`tile_p` and `tile_oc`, of which the innermost are a register tile that fits.

        tile_p    blocks of tiles, register tiles of a block, rows: tiles of a register tile
        tile_oc   parts of the filters, blocks of a part, panels of a block, vectors of a panel
        """
        tile_p = knobs.define_split(
            "tile_p", self.tiles, num_outputs=3, policy="candidate", candidate=self._of_tiles()
        )
        tile_oc = knobs.define_split(
            "tile_oc", self.vectors, num_outputs=4, policy="candidate", candidate=self._of_filters()
        )
        sums = tile_p[-1] * tile_oc[-1]
        knobs.constrain(sums + tile_oc[-1] + 1 <= self.registers)
        knobs.constrain(sums >= min(CHAINS, max(map(prod, self._register_tiles()))))
        scratch = self._scratch(tile_p[1] * tile_p[2], tile_oc[2] * tile_oc[3])
        knobs.constrain(scratch <= _SCRATCH_BYTES)

    @property
    def products(self) -> int:
        """What they take for each channel and vector of filters, fetching the filters included."""
        return self.points * (self.tiles + self._fetched)

    def usual(self, alternative: Alternative) -> dict[str, tuple[int, ...]]:
        """The values that promise most: large register tiles, and threads that end together."""
        knobs = {knob.name: knob.values for knob in alternative.knobs}
        pairs = product(knobs["tile_p"], knobs["tile_oc"])
        found = [{"tile_p": p, "tile_oc": oc} for p, oc in pairs]
        return min(
            (one for one in found if all(holds(c, one) for c in alternative.constraints)),
            key=self._cost,
        )

    @property
    def _filter_bytes(self) -> int:
        return int(self._scratch(1, 0)) * self.vectors * self.width

    @property
    def _fetched(self) -> int:
        """What it takes to fetch a vector of filters, in tiles multiplied with it meanwhile."""
        return self.far if self._filter_bytes > _NEAR_BYTES else 1

    def _cost(self, values: Mapping[str, tuple[int, ...]]) -> tuple[float, int]:
        blocks, pieces, rows = values["tile_p"]
        parts, groups, panels, vectors = values["tile_oc"]
        tiles, turns = pieces * rows, -(-blocks * parts // self.threads)
        work = turns * tiles * (self.vectors / parts + _TRANSFORMED / self.width)
        # what a register tile loads, and how often filters are read
        work *= (1 + _LOADED * (1 / rows + 1 / vectors)) * (1 + 1 / tiles)
        work *= max(1, self._fetched / tiles)
        near = self._fetched == 1
        together = panels * vectors
        filters = self._filter_bytes * (1 if near else together / self.vectors)
        doublings = log2((self._scratch(tiles, together) + filters) / _KEPT_BYTES)
        if doublings > 0:
            work *= 1 + _FAR * min(doublings + 1, _MOST_FAR)
        # far filters drive tiles out of the cache before these are multiplied with the next ones
        return work, abs(together - _PANELS) if near else groups

    def _scratch(self, tiles: Any, vectors: Any) -> Any:
        """Bytes for the tiles of a block and their products with so many vectors of filters."""
        return tiles * (self.channels + vectors * self.width) * self.points * ITEM_BYTES["float32"]

    def _of_tiles(self) -> list[tuple[int, int, int]]:
        """For each number of vectors the rows that add fewest tiles; blocks of equal size."""
        found = set()
        for most, _ in self._register_tiles():
            every = range(1, most + 1)
            for rows in sorted(every, key=lambda n: self._added(n) * (1 + 1 / n))[:_ROWS]:
                pieces = -(-self.tiles // rows)
                for blocks in range(1, pieces + 1):
                    each = -(-pieces // blocks)
                    if each * rows <= _TILES and self._scratch(each * rows, 1) <= _SCRATCH_BYTES:
                        found.add((-(-pieces // each), each, rows))
        return sorted(found)

    def _added(self, rows: int) -> int:
        """Tiles with those that the last rows lack."""
        return -(-self.tiles // rows) * rows

    def _of_filters(self) -> list[tuple[int, int, int, int]]:
        found = []
        for vectors in self._panels():
            panels = -(-self.vectors // vectors)
            for parts in sorted({1, self.threads}):
                own, left = divmod(panels, parts)
                together = [n for n in divisors(own) if n <= _PANELS or n == own]
                found += [(-1, own // n, n, vectors) for n in together if not left]
        return found

    def _register_tiles(self) -> list[tuple[int, int]]:
        """(rows, vectors): the most rows for each number of vectors."""
        return [(min(self.tiles, (self.registers - 1 - n) // n), n) for n in self._panels()]

    def _panels(self) -> list[int]:
        counts = panel_counts(self.vectors, _VECTORS)
        return counts[1:] or counts
