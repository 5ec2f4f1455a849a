"""The taps of a convolution along an axis of an image that is split by phases of the stride."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from tilewright_tensor.expressions.affine import Affine
from tilewright_tensor.expressions.tensor import Axis


@dataclass(frozen=True, slots=True)
class Taps:
    """The taps of a kernel along an axis of an image, which has a margin before it."""

    count: int
    stride: int
    dilation: int
    before: int
    extent: int
    outputs: int

    @property
    def apart(self) -> int:
        """How many taps further the same phase is read again."""
        return self.stride // gcd(self.stride, self.dilation)

    @property
    def phases(self) -> int:
        """How many parts of the image are read: phase i begins at its element `i * dilation`."""
        return min(self.count, self.apart)

    @property
    def reach(self) -> int:
        """How far behind the first one the last tap of a phase is."""
        return (self.count - 1) // self.apart * (self.dilation * self.apart // self.stride)

    def place(self, tap: Axis) -> tuple[Affine, Affine]:
        """(phase that a tap reads, how far behind the pixel there)."""
        if self.count <= self.apart:
            return tap.affine(), Affine()
        return tap % self.apart, tap // self.apart * (self.dilation * self.apart // self.stride)

    def margin(self, elements: int, taps: int) -> int:
        """Zeros behind the image, so that so many elements have so many taps without a distance."""
        last = (elements - 1) * self.stride + (taps - 1) * self.dilation
        return max(last + 1 - self.before - self.extent, 0)

    def pitch(self) -> int:
        """The least distance of rows at which all that they share is zeros."""

        def shares_zeros(pitch: int) -> bool:
            return all(
                place >= self.extent and place - pitch * self.stride < 0
                for phase in range(self.phases)
                for column in range(pitch, whole)
                for place in [column * self.stride + phase * self.dilation - self.before]
            )

        whole = self.outputs + self.reach
        return next(n for n in range(self.outputs, whole + 1) if shares_zeros(n))
