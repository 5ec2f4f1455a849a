"""Direct convolution with products of bfloat16: pairs of channels are added by one instruction.

The micro-kernel of `conv2d_direct` with another inner statement: two channels of a pixel are
broadcast and multiplied with pairs of a vector of filters. Sums are float32.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright_tensor.ir.tensor_instruction import TensorInstruction
from tilewright_x86.instructions.dot_products import VDPBF16PS
from tilewright_x86.strategies.conv2d_direct import Conv2dDirect, group_of, output_blocks
from tilewright_x86.strategies.tiles.stored_formats import (
    like_output,
    rounds_natively,
    stored_in_bfloat16,
)
from tilewright_x86.strategies.tiles.vector_blocks import lanes

_FEWEST_LANES = 8
"""Narrower products are no faster than float32."""
_NARROW = 8
"""Fewer input channels are no block of an image."""


class Conv2dDirectBfloat16(Conv2dDirect):
    """Convolutions of pairs of channels, stored as bfloat16."""

    name = "conv2d_direct_bf16.x86"
    terms = 2

    def applies(self, task: Task) -> bool:
        """As in float32, of pairs of channels, where there is vdpbf16ps for the filters."""
        if not (rounds_natively(task) and super().applies(task) and self.has_pairs(task)):
            return False
        width = min(lanes(task), output_blocks(task)[0])
        return width >= _FEWEST_LANES and width in VDPBF16PS

    def has_pairs(self, task: Task) -> bool:
        """Whether the image can hold channels in pairs without a margin."""
        _, channels, _ = group_of(task)
        return channels >= _NARROW and channels % self.terms == 0

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """As in float32, elements stored as bfloat16; pairs of channels innermost in filters."""
        inner = config["vectors"] * min(lanes(task), config["block_oc"])
        filters = f"OI{self.axes}{config['block_ic'] // 2}i{inner}o2i"
        found = super().layouts(task, config)
        image, _, *epilogue = found.inputs
        found = replace(found, inputs=(image, filters, *epilogue))
        output_dtype = self.operators.output(task.workload).dtype
        return stored_in_bfloat16(task, found, {0, 1, *like_output(task, found)}, output_dtype)

    def _unrolled(self, block_ic: int) -> list[int]:
        return [n for n in super()._unrolled(block_ic) if block_ic % (n * self.terms) == 0]

    def _dot(self, loop: str, width: int) -> tuple[str, TensorInstruction]:
        return loop, VDPBF16PS[width]


conv2d_direct = Conv2dDirectBfloat16
