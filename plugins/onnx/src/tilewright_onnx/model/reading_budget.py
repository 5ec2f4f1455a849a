"""What may be made while a model is read: folded constants, masks, matrices of ones, indexes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

_FREE_BYTES, _GROWTH = 2**28, 16
"""So much in all, and so many times as much as the model has itself."""


class ReadingBudget:
    """The bytes that are left to one model."""

    def __init__(self, model_bytes: int) -> None:
        self._left = _FREE_BYTES + _GROWTH * model_bytes

    def take(self, shape: Sequence[int], dtype: str) -> bool:
        """Whether an array of the shape may be made; if so, its bytes are no longer left."""
        size = prod(shape) * np.dtype(dtype).itemsize
        if size > self._left:
            return False
        self._left -= size
        return True
