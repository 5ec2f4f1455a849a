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
from tilewright_x86.strategies.conv2d_direct import Conv2dDirect
from tilewright_x86.strategies.tiles.stored_formats import like_output, rounds_natively, stored_as
from tilewright_x86.strategies.tiles.vector_blocks import lanes


class Conv2dDirectBfloat16(Conv2dDirect):
    """Convolutions in whole vectors of filters and pairs of channels, stored as bfloat16."""

    name = "conv2d_direct_bf16.x86"
    terms = 2

    def applies(self, task: Task) -> bool:
        """As in float32, of whole vectors of channels and filters, where there is vdpbf16ps."""
        if not rounds_natively(task) or not super().applies(task):
            return False
        groups = task.workload.attributes["groups"]
        filters, channels, *_ = task.workload.inputs[1].shape
        return channels % lanes(task) == 0 and filters // groups % lanes(task) == 0

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """As in float32, elements stored as bfloat16; pairs of channels innermost in filters."""
        inner = config["vectors"] * lanes(task)
        filters = f"OIHW{config['block_ic'] // 2}i{inner}o2i"
        found = super().layouts(task, config)
        image, _, *epilogue = found.inputs
        found = replace(found, inputs=(image, filters, *epilogue))
        return stored_as("bfloat16", found, {0, 1, *like_output(task, found)}, output=True)

    def _dot(self, loop: str, width: int) -> tuple[str, TensorInstruction]:
        return loop, VDPBF16PS[width]


conv2d_direct = Conv2dDirectBfloat16
