"""Convolutions of few or odd channels with products of bfloat16: the image is packed first.

First convolutions of networks have three channels. Their image is copied into workspace with its
margin and a channel of zeros, rounded to bfloat16, and read there as by `conv2d_direct_bf16`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.expressions.tensor import Tensor
from tilewright_tensor.ir.dag import Dag
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.operators.builtin.padding import copy_stage, pad_stage
from tilewright_tensor.operators.definition.attribute import Attributes
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import fused
from tilewright_x86.strategies.bfloat16.conv2d_direct import Conv2dDirectBfloat16
from tilewright_x86.strategies.tiles.vector_blocks import lanes

_IMAGE = "image"


class Conv2dPackedBfloat16(Conv2dDirectBfloat16):
    """Convolutions in one group whose channels are no pairs; the output is stored as bfloat16."""

    name = "conv2d_packed_bf16.x86"

    def has_pairs(self, task: Task) -> bool:
        """Channels that the direct convolution leaves out."""
        return task.workload.attributes["groups"] == 1 and not super().has_pairs(task)

    def viewed(self, task: Task) -> Task:
        """The task itself: the copy has rows of its own."""
        return task

    def reads_single_pixels(self, task: Task) -> bool:
        """Never: tiles read the copy, which is new in the cache."""
        return False

    def input_blocks(self, channels: int, lane_count: int) -> list[int]:
        """All channels, and one more where they are odd."""
        return [channels + channels % self.terms]

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """As of direct convolutions, but for the image, which is plain."""
        found = super().layouts(task, config)
        image = Layout.logical(4).text
        return replace(found, inputs=(image, *found.inputs[1:]))

    def dag(self, task: Task, variant: Any) -> Dag:
        """The convolution of a copy of the image, with its margin."""

        def computed(tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
            data, weight = tensors
            top, left, bottom, right = attributes["padding"]
            odd = data.shape[1] % self.terms
            image = pad_stage(data, [0, 0, top, left], [0, odd, bottom, right], 0.0)
            image = copy_stage(_IMAGE, data) if image is data else replace(image, name=_IMAGE)
            compute = self.operators.find(task.workload.operator).compute
            return compute([image, weight], {**attributes, "padding": (0, 0, 0, 0)})

        return self.operators.compute_dag(task.workload, computed)

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """Rows of the image are read in vectors of pixels and written in vectors of channels."""
        s = schedule.transform_layout(_IMAGE, f"NCHW{config['block_ic']}c:bfloat16")
        s = super().scheduled(task, config, s)
        s = s.cache_write(_IMAGE, "register")
        n, c, h, w = s.loops(_IMAGE)
        s = s.split(_IMAGE, c, [lanes(task)]).split(_IMAGE, w, [lanes(task)])
        s = s.reorder(_IMAGE, [n, h, f"{w}.0", f"{c}.0", f"{w}.1", f"{c}.1"])
        s = s.unroll(_IMAGE, f"{w}.1").vectorize(_IMAGE, f"{c}.1")
        s, row = fused(s, _IMAGE, [n, h])
        s = s.parallel(_IMAGE, row)
        pixels = f"{_IMAGE}.register"
        s = s.compute_at(pixels, _IMAGE, f"{c}.0", "register")
        n, c, h, w = s.loops(pixels)
        return s.reorder(pixels, [n, h, c, w]).unroll(pixels, c).vectorize(pixels, w)


make = conv2d_packed = Conv2dPackedBfloat16
