"""Convolution as a matrix product without a copy of the image: implicit GEMM.

In NHWC the rows are pixels and the columns filters, in NCHW the other way round, so that columns
lie together in memory; the depth runs over taps and, innermost, input channels (Chetlur et al.,
cuDNN, 2014).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.task import Task
from tilewright_cuda.strategies.tiles.adoption import image_tile
from tilewright_cuda.strategies.tiles.image_layouts import IMAGE_LAYOUTS
from tilewright_cuda.strategies.tiles.image_product import ImageProduct
from tilewright_tensor.algorithms.matrix_product import MatrixProduct
from tilewright_tensor.expressions.expr import Value, ge, logical_and, lt, select
from tilewright_tensor.expressions.tensor import Axis, Tensor
from tilewright_tensor.ir.dag import compute
from tilewright_tensor.logs.autotvm_templates import template_of
from tilewright_tensor.logs.nearest import nearest
from tilewright_tensor.strategies.scheduled_implementation import is_float32


class Conv2dIgemm(ImageProduct):
    """Convolutions without groups."""

    name = "conv2d_igemm.cuda"

    def applies(self, task: Task) -> bool:
        """float32 without groups."""
        return is_float32(task) and task.workload.attributes["groups"] == 1

    def adopt_config(self, task: Task, foreign: ConfigEntity) -> ConfigEntity | None:
        """AutoTVM's direct template: its tiles of filters and pixels are ours, in NCHW."""
        if template_of(foreign) != "conv2d_nchw.cuda":
            return None
        depth = foreign["tile_rc"][-1] * foreign["tile_ry"][-1] * foreign["tile_rx"][-1]
        wanted = {**image_tile(foreign), "bk": depth}
        return nearest(self.alternatives(task)[IMAGE_LAYOUTS.index("NCHW")], wanted)

    def product(
        self, task: Task, layout: str, tensors: Sequence[Tensor] = (), step: int = 1
    ) -> MatrixProduct:
        """The product with all taps of all channels as its depth."""
        del step
        anchor = task.workload.anchor
        n, filters, height, width = self.operators.output(anchor).shape
        _, channels, kh, kw = anchor.inputs[1].shape
        pixels, depth = n * height * width, channels * kh * kw
        attributes = anchor.attributes
        image = partial(_image, tensors, attributes, (kh, kw), (height, width))
        packed = anchor.inputs[1].role == "constant"

        def weight(k: Axis, oc: Axis) -> Value:
            return tensors[1][oc, k % channels, k // (kw * channels), k // channels % kw]

        if layout == "NHWC":
            return MatrixProduct(
                1, pixels, filters, depth,
                lambda _, m, k: image(m, k),
                lambda _, k, oc: weight(k, oc),
                partial(_result, (n, filters, height, width), columns_are_filters=True),
                (), (0, 2, 3), (1,),
                column_runs=filters,
                left_runs=channels, left_along_depth=True,
                right_runs=filters if packed else 1,
            )  # fmt: skip
        pointwise = kh == kw == 1 and tuple(attributes["strides"]) == (1, 1)
        return MatrixProduct(
            1, filters, pixels, depth,
            lambda _, oc, k: weight(k, oc),
            lambda _, k, m: image(m, k),
            partial(_result, (n, filters, height, width), columns_are_filters=False),
            (), (1,), (0, 2, 3),
            column_runs=height * width,
            left_runs=filters if packed else 1,
            right_runs=height * width if pointwise and not any(attributes["padding"]) else 1,
        )  # fmt: skip


def _image(  # noqa: PLR0917  the first four are given once, by `partial`
    tensors: Sequence[Tensor],
    attributes: Any,
    taps: tuple[int, int],
    places: tuple[int, int],
    pixel: Axis,
    k: Axis,
) -> Value:
    """What a pixel of the output multiplies with element `k` of a filter; zero in the margin."""
    data = tensors[0]
    images, channels, *extents = data.shape
    height, width = places
    n = pixel // (height * width) if images > 1 else 0
    at = (
        pixel // width % height if images > 1 else pixel // width,
        pixel % width,
    )
    tap = (k // (taps[1] * channels), k // channels % taps[1])
    source, inside = [], []
    for d in range(2):
        before, after = attributes["padding"][d], attributes["padding"][2 + d]
        stride, dilation = attributes["strides"][d], attributes["dilation"][d]
        one = at[d] * stride + tap[d] * dilation - before
        source.append(one)
        inside += [ge(one, 0)] if before else []
        inside += [lt(one, extents[d])] if after else []
    value = data[(n, k % channels, *source)]
    return select(logical_and(*inside), value, 0.0) if inside else value


def _result(shape: tuple[int, ...], product: Tensor, *, columns_are_filters: bool) -> Tensor:
    _, _, height, width = shape

    def element(n: Axis, oc: Axis, oh: Axis, ow: Axis) -> Value:
        pixel = (n * height + oh) * width + ow
        return product[0, pixel, oc] if columns_are_filters else product[0, oc, pixel]

    return compute("conv2d", shape, element)


make = Conv2dIgemm
