"""Operators around products of bfloat16: stored as bfloat16, arithmetic in float32.

They halve the bytes of what only reads and writes, and save its neighbours the conversions.
"""

from __future__ import annotations

from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.sketches.strategy import Derived
from tilewright_tensor.strategies.scheduled_implementation import is_float32
from tilewright_x86.strategies.attention.attention import Attention
from tilewright_x86.strategies.concat import Concat
from tilewright_x86.strategies.conv2d_depthwise import Conv2dDepthwise
from tilewright_x86.strategies.dense_packed import DensePacked
from tilewright_x86.strategies.derived import limits
from tilewright_x86.strategies.elementwise import Elementwise
from tilewright_x86.strategies.images.resize import Resize
from tilewright_x86.strategies.pool2d import Pool2d
from tilewright_x86.strategies.tiles.stored_formats import (
    like_output,
    rounds_natively,
    stored_in_bfloat16,
)


def _gains(task: Task) -> bool:
    """Whether the target knows bfloat16 and the task does not: its own strategies store it then."""
    return rounds_natively(task) and is_float32(task)


class Conv2dDepthwiseBfloat16(Conv2dDepthwise):
    """Depthwise convolutions of images that are stored as bfloat16."""

    name = "conv2d_depthwise_bf16.x86"

    def applies(self, task: Task) -> bool:
        """As in float32, where the processor rounds to bfloat16."""
        return _gains(task) and super().applies(task)

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """As in float32, images stored as bfloat16."""
        found = super().layouts(task, config)
        output_dtype = self.operators.output(task.workload).dtype
        return stored_in_bfloat16(task, found, like_output(task, found), output_dtype)


class AttentionBfloat16(Attention):
    """Attention to what is stored as bfloat16, multiplied in float32."""

    name = "attention_bf16.x86"

    def applies(self, task: Task) -> bool:
        """As in float32, where the processor rounds to bfloat16."""
        return _gains(task) and super().applies(task)

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """As in float32, all but the mask stored as bfloat16."""
        output_dtype = self.operators.output(task.workload).dtype
        return stored_in_bfloat16(task, super().layouts(task, config), {0, 1, 2}, output_dtype)


class DensePackedBfloat16(DensePacked):
    """Dense layers whose weights are stored as bfloat16: with few rows they are what is read."""

    name = "dense_packed_bf16.x86"

    def applies(self, task: Task) -> bool:
        """As in float32, where the processor knows bfloat16."""
        return _gains(task) and super().applies(task)

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """As in float32, but for the weights."""
        return stored_in_bfloat16(task, super().layouts(task, config), {1})


class Pool2dBfloat16(Pool2d):
    """Pooling of images that are stored as bfloat16."""

    name = "pool2d_bf16.x86"

    def applies(self, task: Task) -> bool:
        """As in float32, where the processor rounds to bfloat16."""
        return _gains(task) and super().applies(task)

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """As in float32, images stored as bfloat16."""
        found = super().layouts(task, config)
        output_dtype = self.operators.output(task.workload).dtype
        return stored_in_bfloat16(task, found, like_output(task, found), output_dtype)


class ResizeBfloat16(Resize):
    """Resizing of images that are stored as bfloat16."""

    name = "resize_bf16.x86"

    def applies(self, task: Task) -> bool:
        """As in float32, where the processor rounds to bfloat16."""
        return _gains(task) and super().applies(task)

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """As in float32, images stored as bfloat16."""
        found = super().layouts(task, config)
        output_dtype = self.operators.output(task.workload).dtype
        return stored_in_bfloat16(task, found, like_output(task, found), output_dtype)


class ElementwiseBfloat16(Elementwise):
    """Element-wise chains over tensors that are stored as bfloat16."""

    name = "elementwise_bf16.x86"

    def applies(self, task: Task) -> bool:
        """As in float32, where the processor rounds to bfloat16."""
        return _gains(task) and super().applies(task)

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """As in float32, operands of full shape stored as bfloat16."""
        found = super().layouts(task, config)
        output_dtype = self.operators.output(task.workload).dtype
        return stored_in_bfloat16(task, found, like_output(task, found), output_dtype)


class RowsBfloat16(Derived):
    """What stands between products of a transformer, stored as bfloat16, by derived schedules."""

    def __init__(self, operators: Operators) -> None:
        super().__init__(operators, "rows_bf16.x86", limits)

    def applies(self, task: Task) -> bool:
        """As in float32, where the processor rounds to bfloat16."""
        return _gains(task) and super().applies(task)

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """As in float32, operands of full shape stored as bfloat16."""
        found = super().layouts(task, config)
        output_dtype = self.operators.output(task.workload).dtype
        return stored_in_bfloat16(task, found, {0, *like_output(task, found)}, output_dtype)


class ConcatBfloat16(Concat):
    """Concats of what is stored as bfloat16."""

    name = "concat_bf16.x86"

    def applies(self, task: Task) -> bool:
        """As in float32, where convolutions store bfloat16."""
        return _gains(task) and super().applies(task)

    def stored(self, config: ConfigEntity) -> Layout:
        """The chosen layout of bfloat16."""
        return super().stored(config).stored_as("bfloat16")


conv2d_depthwise = Conv2dDepthwiseBfloat16
dense_packed, pool2d, resize = DensePackedBfloat16, Pool2dBfloat16, ResizeBfloat16
elementwise, concat, rows = ElementwiseBfloat16, ConcatBfloat16, RowsBfloat16
attention = AttentionBfloat16
