"""Inputs with fewer rows than a bucket has, brought to its size."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import Any

import numpy as np

from tilewright.vocabulary.workload import TensorSpec
from tilewright_graph.network.dimension import Dimension
from tilewright_tensor.expressions.dtype import numpy_type


class Padding:
    """The arrays that a bucket's padded inputs are written to, made once.

    >>> with padding.turn:   # threads share the arrays
    ...     answers = network.run(padding.filled({"x": nine_rows}))

    specs   of the bucket's inputs
    """

    def __init__(self, dimension: Dimension, specs: Mapping[str, TensorSpec]) -> None:
        self.turn = Lock()
        self._axes = {name: dimension.rows[name].axis for name in specs if name in dimension.rows}
        self._arrays = {
            name: np.empty(specs[name].shape, numpy_type(specs[name].dtype)) for name in self._axes
        }

    def filled(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """The arrays at the bucket's size, until the next call; their last row is repeated.

        The network can surely take that row.
        """
        for name, axis in self._axes.items():
            rows, whole = arrays[name].swapaxes(0, axis), self._arrays[name].swapaxes(0, axis)
            whole[: len(rows)] = rows
            whole[len(rows) :] = rows[-1]
        return {**arrays, **self._arrays}
