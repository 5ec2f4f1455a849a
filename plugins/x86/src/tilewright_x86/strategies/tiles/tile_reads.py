"""What blocks of tiles of sums read, and the cycles that a core needs for it at least.

By counts: a product takes 16 cycles, and one on top of the same sums begins 52 later; a load of a
tile takes 8, 48 bytes of the second cache level take one; all of it goes on at the same time. What
follows for every pixel, to find its place and to keep or drop it, takes about 5 more.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright_x86.instructions.tiles import ROWS

_PRODUCT, _LATENCY, _LOAD, _PIXEL = 16, 52, 8, 5
_BYTES_A_CYCLE = 48
_REGISTERS, _IN_USE = 8, 2
_TILE_BYTES = 1024
_FIRST_LEVEL, _SECOND_LEVEL = 32 << 10, 1 << 20
"""Bytes that stay in a cache while others pass through it: two thirds and half of it."""
_BEYOND = 3
"""Times that bytes of the third level take longer than those of the second."""


@dataclass(frozen=True, slots=True)
class TileReads:
    """The tiles of a convolution: of pixels, of a group's filters, and of terms of each sum.

    pixel_bytes   of the image a pixel, for a group
    reach         pixels behind its own that a block reads
    groups        whose filters one block of pixels may meet in turn
    """

    pixels: int
    filters: int
    terms: int
    pixel_bytes: int
    reach: int
    groups: int = 1

    def cycles(self, along: int, across: int, outer: str) -> tuple[float, float]:
        """(at least, were none of it at the same time) with blocks of `along` by `across` tiles.

        `outer`: one block of filters meets all pixels, or one of pixels (`rows`) all filters.
        """
        blocks = -(-self.pixels // along)
        least = apart = 0.0
        for tiles, count in ((along, blocks - 1), (self.pixels - along * (blocks - 1), 1)):
            turns = count * self.filters // across
            products = self.terms * max(tiles * across * _PRODUCT, _LATENCY)
            operands = _REGISTERS - along * across
            loads = tiles + across if operands > across else tiles * (1 + across)
            loads *= self.terms * _LOAD
            read = self._read(tiles, across, outer, blocks) / _BYTES_A_CYCLE
            after = tiles * ROWS * _PIXEL
            # the next operands are loaded while products read the last ones, where there is room
            tiled = max(products, loads) if operands > _IN_USE else products + loads
            least += turns * (max(tiled, read) + after)
            apart += turns * (products + loads + read + after)
        return least, apart

    def _read(self, along: int, across: int, outer: str, blocks: int) -> float:
        """Bytes that a block reads from the second level or beyond it, on average."""
        image = min((along * ROWS + self.reach) * self.pixel_bytes, along * self._tile_row)
        weights, turns = float(across * self._tile_row), self.filters // across
        stays = image + weights <= _FIRST_LEVEL
        if outer == "filters":
            return image + (weights / blocks if stays else weights)
        every = self.groups * turns * weights
        if image + every <= _FIRST_LEVEL:
            weights /= blocks
        elif every > _SECOND_LEVEL and blocks > 1:
            weights *= _BEYOND
        return weights + (image / turns if stays else image)

    @property
    def _tile_row(self) -> int:
        """Bytes of the tiles that one tile of sums reads of an operand."""
        return self.terms * _TILE_BYTES
