"""Convolutions of volumes by Winograd's F(2x2, 3x3) and F(4x4, 3x3) of their planes."""

from __future__ import annotations

from tilewright.vocabulary.task import Task
from tilewright_x86.strategies.tiles.vector_blocks import lanes
from tilewright_x86.strategies.winograd.conv2d_winograd import Conv2dWinograd


class Conv3dWinograd(Conv2dWinograd):
    """A plane of the result adds up over the planes that it takes, as over channels.

    Each is transformed anew for every plane of the result: with 64 filters that is an eighth of the
    work, and less with more.
    """

    name = "conv3d_winograd.x86"
    axes = "DHW"

    def applies(self, task: Task) -> bool:
        """Strides 1, no groups, whole vectors of input channels: one then lies in one plane."""
        channels = task.workload.inputs[1].shape[1]
        return super().applies(task) and channels % lanes(task) == 0


make = Conv3dWinograd
