"""A transposed convolution as a batch of products of matrices: one a residue of the strides.

Pixels of the output that lie a multiple of the strides apart have the same taps, and read
neighbours of the image. So they are the rows of one product, and no zeros between the elements of
the image take part (Shi et al., Is the deconvolution layer the same as a convolutional layer?,
2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

from tilewright.vocabulary.workload import Workload
from tilewright_tensor.algorithms.matrix_product import MatrixProduct
from tilewright_tensor.expressions.affine import Affine
from tilewright_tensor.expressions.expr import Value, ge, logical_and, lt, select
from tilewright_tensor.expressions.tensor import Axis, Tensor
from tilewright_tensor.ir.dag import compute


@dataclass(frozen=True, slots=True)
class TransposedConvolution:
    """Counts residues as `b`, pixels of a residue as `m`, taps and, innermost, channels as `k`.

    step   where residues differ in their number of taps, the channels of each tap are rounded up
           to a multiple of it, so that a step of the depth has one tap only
    """

    data: tuple[int, ...]
    weight: tuple[int, ...]
    result: tuple[int, ...]
    strides: tuple[int, ...]
    padding: tuple[int, ...]
    step: int = 1

    @classmethod
    def of(cls, anchor: Workload, result: tuple[int, ...], step: int = 1) -> TransposedConvolution:
        """Of a conv2d_transpose in one group, and the shape of its result."""
        data, weight = (spec.shape for spec in anchor.inputs)
        strides, before = anchor.attributes["strides"], anchor.attributes["padding"][:2]
        return cls(data, weight, result, tuple(strides), tuple(before), step)

    @property
    def taps(self) -> tuple[int, ...]:
        """Taps of the residues that have most, down and across."""
        return tuple(-(-k // s) for k, s in zip(self.weight[2:], self.strides, strict=True))

    @property
    def places(self) -> tuple[int, ...]:
        """Pixels of the residues that have most, down and across an image."""
        return tuple(-(-n // s) for n, s in zip(self.result[2:], self.strides, strict=True))

    @property
    def channels(self) -> int:
        """Channels of a tap, as the depth counts them."""
        return self.weight[1] if self._even else -(-self.weight[1] // self.step) * self.step

    def product(
        self, layout: str, *, packed: bool, tensors: Sequence[Tensor] = ()
    ) -> MatrixProduct:
        """Pixels by filters in NHWC, filters by pixels in NCHW.

        The loops of the output are n, oc, and those over rows and columns, both split by strides.

        The tensors are data and weight, whose filters lie together where it is packed; none are
        needed to plan the product.
        """
        batch, filters = prod(self.strides), self.weight[0]
        pixels, depth = self.data[0] * prod(self.places), prod(self.taps) * self.channels
        if layout == "NHWC":
            return MatrixProduct(
                batch, pixels, filters, depth,
                lambda b, m, k: self._image(tensors[0], b, m, k),
                lambda b, k, oc: self._filter(tensors[1], b, k, oc),
                partial(self._output, columns_are_filters=True),
                (3, 5), (0, 2, 4), (1,),
                column_runs=filters,
                left_runs=self.weight[1], left_along_depth=True,
                right_runs=filters if packed else 1,
                present=self._present,
            )  # fmt: skip
        return MatrixProduct(
            batch, filters, pixels, depth,
            lambda b, oc, k: self._filter(tensors[1], b, k, oc),
            lambda b, k, m: self._image(tensors[0], b, m, k),
            partial(self._output, columns_are_filters=False),
            (3, 5), (1,), (0, 2, 4),
            column_runs=pixels if batch == 1 else 1,
            left_runs=filters if packed else 1,
            present=self._present,
        )  # fmt: skip

    @property
    def _even(self) -> bool:
        """Whether all residues have as many taps."""
        return not any(k % s for k, s in zip(self.weight[2:], self.strides, strict=True))

    def _step(self, b: Axis, k: Axis | Affine) -> list[tuple[Affine, Affine]]:
        """(shift of the image, tap of the filter) of a step of the depth, down and across."""
        residues = b // self.strides[1], b % self.strides[1]
        tap = k // self.channels
        found = []
        for d, number in enumerate((tap // self.taps[1], tap % self.taps[1])):
            first, stride = residues[d] + self.padding[d], self.strides[d]
            found.append((first // stride - number, number * stride + first % stride))
        return found

    def _present(self, b: Axis, k: Axis | Affine) -> list[Value]:
        """That the residue has the tap."""
        taps = zip(self._step(b, k), self.weight[2:], self.strides, strict=True)
        return [lt(tap, extent) for (_, tap), extent, stride in taps if extent % stride]

    def _channel(self, k: Axis) -> tuple[Affine, list[Value]]:
        """(channel, that there is one where their number was rounded up)."""
        channel, channels = k % self.channels, self.weight[1]
        return channel, [lt(channel, channels)] if channels < self.channels else []

    def _image(self, data: Tensor, b: Axis, m: Axis, k: Axis) -> Value:
        """The pixel that a pixel of the output multiplies with a tap; zero in the margin."""
        down, across = self.places
        source, (channel, inside) = [], self._channel(k)
        for d, at in enumerate((m // across % down, m % across)):
            shift, _ = self._step(b, k)[d]
            source.append(at + shift)
            extent, stride, before = self.data[2 + d], self.strides[d], self.padding[d]
            if before // stride < self.taps[d] - 1:
                inside.append(ge(source[d], 0))
            if self.places[d] - 1 + (stride - 1 + before) // stride >= extent:
                inside.append(lt(source[d], extent))
        value = data[(m // (down * across), channel, *source)]
        return select(logical_and(*inside), value, 0.0) if inside else value

    def _filter(self, weight: Tensor, b: Axis, k: Axis, oc: Axis) -> Value:
        channel, inside = self._channel(k)
        taps = (tap for _, tap in self._step(b, k))
        value = weight[(oc, channel, *taps)]
        return select(logical_and(*inside), value, 0.0) if inside else value

    def _output(self, product: Tensor, *, columns_are_filters: bool) -> Tensor:
        down, across = self.places

        def element(n: Axis, oc: Axis, oh: Axis, ow: Axis) -> Value:
            b = oh % self.strides[0] * self.strides[1] + ow % self.strides[1]
            m = (n * down + oh // self.strides[0]) * across + ow // self.strides[1]
            return product[b, m, oc] if columns_are_filters else product[b, oc, m]

        return compute("conv2d_transpose", self.result, element)
