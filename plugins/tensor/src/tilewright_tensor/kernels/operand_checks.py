"""Whether what a kernel is given is what it was made for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Spec = tuple[tuple[int, ...], np.dtype[Any]]


def check_operands(arrays: Sequence[Any], specs: Sequence[Spec]) -> None:
    """Raise ValueError unless there are as many arrays, each of its shape and dtype."""
    if len(arrays) != len(specs):
        raise ValueError(f"expected {len(specs)} operands, got {len(arrays)}")
    for position, (array, spec) in enumerate(zip(arrays, specs, strict=True)):
        check_operand(position, array, *spec)


def check_operand(position: int, array: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Raise ValueError unless the array has this shape and dtype."""
    if tuple(array.shape) != shape or array.dtype != dtype:
        raise ValueError(
            f"operand {position}: expected {dtype.name}{list(shape)}, "
            f"got {array.dtype}{list(array.shape)}"
        )
