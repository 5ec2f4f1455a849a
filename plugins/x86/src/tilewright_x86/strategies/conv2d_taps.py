"""Direct convolutions whose taps lie far apart, tap by tap.

Where a filter reaches beyond the image at most places, as with the dilations of DeepLab's pyramids
(Chen et al., 2017), most terms are zeros of the margin. A tile adds up all channels of a tap before
those of the next: whether a tap meets the tile is asked once, what follows is a convolution of
single pixels, and filters of taps that miss the image are never read.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.task import Task
from tilewright_tensor.algorithms.terms_inside import terms_inside
from tilewright_tensor.lowering.program_pass import ProgramPass
from tilewright_x86.passes.whole_tiles import whole_tiles_apart
from tilewright_x86.strategies.conv2d_direct import Conv2dDirect, group_of
from tilewright_x86.strategies.tiles.vector_blocks import lanes

_MOST_INSIDE = 2 / 3
"""Of the terms, as many as may be inside the image.

With 0.6 of them, on images of 3x3, it is 1.5 times as fast as direct convolution on Zen 3.
"""


class Conv2dTaps(Conv2dDirect):
    """Convolutions of which margins make a third of the terms zero; the knobs of direct ones."""

    name = "conv2d_taps.x86"
    taps_outside = True

    def applies(self, task: Task) -> bool:
        """As direct convolution, where enough terms are zeros of the margins."""
        return super().applies(task) and self._share_inside(task) <= _MOST_INSIDE

    def fallback(self, task: Task) -> ConfigEntity | None:
        """Direct convolution's tile, in the widest blocks of channels.

        A tap leads to as many pages of memory as it has blocks. On Zen 3, two threads, 2048
        channels of 28x28 with dilations of 12, 24 and 36 take 31, 13.9 and 5.6 ms in blocks of 32,
        43, 14.4 and 6.3 in blocks of 8.
        """
        found = super().fallback(task)
        _, channels, _ = group_of(task)
        widest = self.input_blocks(channels, lanes(task))[-1]
        return found and ConfigEntity(self.name, {**found.values, "block_ic": widest})

    def passes(self, task: Task, config: ConfigEntity) -> Sequence[ProgramPass]:
        """Terms left out and prefetches, then tiles that a tap meets in part are told apart."""
        return [*super().passes(task, config), whole_tiles_apart]

    def _share_inside(self, task: Task) -> float:
        """Of the terms."""
        data, weight, *_ = task.workload.inputs
        attributes = task.workload.attributes
        outputs = self.operators.output(task.workload.anchor).shape[2:]
        axes = zip(
            weight.shape[2:],
            data.shape[2:],
            outputs,
            attributes["padding"][:2],
            attributes["dilation"],
            attributes["strides"],
            strict=True,
        )
        inside = prod(
            terms_inside(taps, extent, places, before=before, dilation=step, stride=stride)
            for taps, extent, places, before, step, stride in axes
        )
        return inside / prod((*weight.shape[2:], *outputs))

    def _prefetches(self, task: Task) -> list[str]:
        """Pixels; whether the next filters are read depends on the place."""
        del task
        return ["none", "pixels"]

    def _usual_order(self, task: Task, block_ic: int, rows: int) -> tuple[str, int, str]:
        """Filters outermost, channels unrolled, pixels fetched ahead where they are single ones.

        Without, a dilation of 36 as above takes 13.7 ms in blocks of 8.
        """
        del task
        unroll = max(n for n in self._unrolled(block_ic) if block_ic % n == 0)
        return "filters", unroll, "pixels" if rows == 1 and block_ic > unroll else "none"


make = Conv2dTaps
