"""The pixels of a convolution as one sequence, over the ends of rows, for tiles of them.

The image is copied with rows of `pitch` columns. Output pixel p is that of row `p // pitch` and
column `p % pitch`; a tap reads a constant distance behind it. What lies between the end of a row
and the next one is computed too, and dropped. Margins of neighbouring rows share their zeros. With
a stride the copy is split by phases, so that each tap reads neighbours of one phase.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tilewright.vocabulary.workload import TensorSpec, Workload
from tilewright_tensor.expressions.affine import index
from tilewright_tensor.expressions.dtype import ITEM_BYTES
from tilewright_tensor.expressions.expr import Value, lt, select
from tilewright_tensor.expressions.tensor import Axis, Tensor
from tilewright_tensor.ir.dag import Reduction, compute, reduce_axis, reduce_sum
from tilewright_tensor.operators.builtin.padding import copy_stage, pad_stage
from tilewright_x86.instructions.tiles import ROWS
from tilewright_x86.strategies.tiles.taps import Taps
from tilewright_x86.strategies.tiles.tile_reads import TileReads

TERMS = 32
"""Terms of a pixel in a tile."""
_FEW = 8
"""Channels up to which the columns of the kernel share a tile."""
IMAGE, MARGIN = "image", "pad"
"""The stages: the copy, and the image with its margin, which the copy reads."""
_RANK = 4


@dataclass(frozen=True, slots=True)
class PixelSequence:
    """The pixels of a convolution.

    groups    of filters
    channels  of the image that a group of filters reads
    rows, columns   the taps
    """

    groups: int
    channels: int
    rows: Taps
    columns: Taps

    @classmethod
    def of(cls, workload: Workload, output: Sequence[int]) -> PixelSequence:
        """Of a convolution whose output has this shape."""
        attributes, shape = workload.attributes, workload.inputs[0].shape
        kernel = workload.inputs[1].shape
        rows, columns = (
            Taps(
                kernel[2 + axis],
                attributes["strides"][axis],
                attributes["dilation"][axis],
                attributes["padding"][axis],
                shape[2 + axis],
                output[2 + axis],
            )
            for axis in (0, 1)
        )
        return cls(attributes["groups"], kernel[1], rows, columns)

    @property
    def few(self) -> int:
        """Channels of a column where the columns of a kernel share a tile; 0 where they do not."""
        if self.channels > _FEW or self.columns.count == 1 or self.groups > 1:
            return 0
        return max(2, 1 << (self.channels - 1).bit_length())

    @property
    def pitch(self) -> int:
        """Pixels from a row to the next."""
        return self.columns.outputs if self.few else self.columns.pitch()

    @property
    def reach(self) -> int:
        """How many pixels behind the first tap of a phase the last one is."""
        return self.rows.reach * self.pitch + (0 if self.few else self.columns.reach)

    @property
    def tiles(self) -> int:
        """Tiles of pixels of an image."""
        return -(-((self.rows.outputs - 1) * self.pitch + self.columns.outputs) // ROWS)

    @property
    def pixels(self) -> int:
        """All of the tiles."""
        return self.tiles * ROWS

    @property
    def phases(self) -> int:
        """Parts of the copy."""
        return self.rows.phases * (1 if self.few else self.columns.phases)

    @property
    def terms(self) -> int:
        """Terms of a pixel of the copy that a group of filters reads, in whole tiles."""
        return -(-(self.few * self.columns.count or self.channels) // TERMS) * TERMS

    @property
    def copied(self) -> bool:
        """Whether there is a copy at all."""
        plain = all(
            (one.count, one.stride, one.before, one.outputs) == (1, 1, 0, one.extent)
            for one in (self.rows, self.columns)
        )
        pixels = self.rows.extent * self.columns.extent
        return not plain or pixels != self.pixels or self.channels != self.terms

    def reads(self, filters: int) -> TileReads:
        """What is read for so many filters of a group."""
        taps = self.rows.count * (1 if self.few else self.columns.count)
        return TileReads(
            self.tiles,
            -(-filters // ROWS),
            taps * self.terms // TERMS,
            self.phases * self.terms * ITEM_BYTES["bfloat16"],
            self.reach,
            self.groups,
        )

    def flattened(self, workload: Workload) -> Workload:
        """The workload with the operands that the sequence is of, or is computed with, as one row.

        Those that are the same for all pixels stay as they are.
        """
        data, weight, *others = workload.inputs
        if not self.copied:
            data = _in_one_row(data, self.pixels)
        flat = [_in_one_row(one, self.pixels) for one in others]
        return replace(workload, inputs=(data, weight, *flat))

    def image(self, data: Tensor) -> Tensor:
        """The copy, `[images, groups * terms, phases, pixels]`."""
        rows, columns = self.rows, self.columns
        height = -(-(self.pixels + self.reach) // self.pitch)
        few = self.few
        bottom = rows.margin(height, rows.phases)
        # of few channels all taps, and what stands for columns that fill up a tile
        right = columns.margin(self.pitch, self.terms // few if few else columns.phases)
        added = 0 if self.groups > 1 else (few or self.terms) - self.channels
        before, after = [0, 0, rows.before, columns.before], [0, added, bottom, right]
        padded = pad_stage(data, before, after, 0.0)
        if few and padded is data:
            padded = copy_stage(MARGIN, data)

        def element(n: Axis, c: Axis, phase: Axis, pixel: Axis) -> Value:
            row, column = pixel // self.pitch, pixel % self.pitch
            if few:
                place = row * rows.stride + phase * rows.dilation
                tap = c // few
                at = column * columns.stride + tap * columns.dilation
                return select(lt(tap, columns.count), padded[n, c % few, place, at], 0.0)
            down, along = phase // columns.phases, phase % columns.phases
            place = row * rows.stride + down * rows.dilation
            at = column * columns.stride + along * columns.dilation
            if self.groups == 1:
                return padded[n, c, place, at]
            group, term = c // self.terms, c % self.terms
            found = padded[n, group * self.channels + term, place, at]
            return select(lt(term, self.channels), found, 0.0)

        shape = (data.shape[0], self.groups * self.terms, self.phases, height * self.pitch)
        return compute(IMAGE, shape, element, axes=("n", "c", "f", "p"))

    def convolution(self, name: str, data: Tensor, weight: Tensor) -> Tensor:
        """The sums of all pixels, `[images, filters, 1, pixels]`."""
        filters, channels, *taps = weight.shape
        image = self.image(data) if self.copied else data
        ic, kh, kw = map(reduce_axis, (channels, *taps), ("ic", "kh", "kw"))

        def element(n: Axis, oc: Axis, oh: Axis, ow: Axis) -> Reduction:
            phase, below = self.rows.place(kh)
            term, pixel = index(ic), oh + ow + below * self.pitch
            if self.groups > 1:
                term += oc // (filters // self.groups) * self.terms
            if self.few:
                term += kw * self.few
            else:
                one, behind = self.columns.place(kw)
                phase, pixel = phase * self.columns.phases + one, pixel + behind
            return reduce_sum(image[n, term, phase, pixel] * weight[oc, ic, kh, kw], ic, kh, kw)

        shape = (data.shape[0], filters, 1, self.pixels)
        return compute(name, shape, element, axes=("n", "oc", "oh", "ow"))


def _in_one_row(spec: TensorSpec, pixels: int) -> TensorSpec:
    """An operand of which the last two axes are those of an image, where it has them."""
    if len(spec.shape) < _RANK or spec.shape[2:] == (1, 1):
        return spec
    return replace(spec, shape=(*spec.shape[:2], 1, pixels))
