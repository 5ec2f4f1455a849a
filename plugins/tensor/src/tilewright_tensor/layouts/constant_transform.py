"""What may be done to a constant at compile time besides rearranging it: named, part of a layout.

`winograd4:ABIO` means the filters' Winograd transform, then its axes A, B, I, O in this order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from tilewright.errors import UsageError, did_you_mean
from tilewright_tensor.layouts.winograd import TAPS, Winograd

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True)
class WinogradFilters:
    """Filters [O, I, 3, 3] as the G g G^T of F(outputs x outputs, 3 x 3), axes A, B, I, O.

    Those of volumes, [O, I, D, 3, 3], have D times I input channels.
    """

    outputs: int

    def shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Of what the transform gives. Raises UsageError where it takes no such constant."""
        if len(shape) not in (4, 5) or shape[-2:] != (TAPS, TAPS):
            raise UsageError(f"winograd{self.outputs}: expected filters [O, I, 3, 3], got {shape}")
        inputs = Winograd.of(self.outputs).inputs
        return inputs, inputs, prod(shape[1:-2]), shape[0]

    def apply(self, array: Array) -> Array:
        """The transformed filters, computed in float64, in the dtype of the array."""
        import numpy as np

        g = np.array(Winograd.of(self.outputs).filters)
        taps = array.reshape(*array.shape[:2], -1, TAPS * TAPS).transpose(3, 2, 1, 0)
        taps = taps.astype(np.float64, order="C").reshape(TAPS * TAPS, -1)
        made: Array = np.kron(g, g) @ taps  # one product of matrices: a quarter of einsum's time
        return made.reshape(self.shape(array.shape)).astype(array.dtype)

    def undo(self, array: Array, shape: tuple[int, ...]) -> Array:
        """The filters of a shape again, to rounding."""
        import numpy as np

        g = np.linalg.pinv(np.array(Winograd.of(self.outputs).filters))
        filters, channels, *_ = shape
        planes = array.reshape(*array.shape[:2], -1, channels, filters).astype(np.float64)
        made: Array = np.einsum("ka,abdio,lb->oidkl", g, planes, g)
        return made.reshape(shape).astype(array.dtype)


TRANSFORMS: Mapping[str, WinogradFilters] = {f"winograd{m}": WinogradFilters(m) for m in (2, 4)}
"""By the name that a layout begins with."""


def constant_transform(name: str, text: str) -> WinogradFilters:
    """The transform of that name. Raises UsageError, about the layout `text`."""
    if name not in TRANSFORMS:
        raise UsageError(
            f"layout {text!r}: no transform named {name!r}",
            remedy=did_you_mean(name, list(TRANSFORMS)),
        )
    return TRANSFORMS[name]
