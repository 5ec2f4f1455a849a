"""Inputs with fewer rows than a bucket has, brought to its sizes."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import Any

import numpy as np

from tilewright.vocabulary.workload import TensorSpec
from tilewright_graph.network.dimensions import Dimensions
from tilewright_tensor.expressions.dtype import numpy_type


class Padding:
    """The arrays that a bucket's padded inputs are written to, made once.

    >>> with padding.turn:   # threads share the arrays
    ...     answers = network.run(padding.filled({"x": nine_rows}))

    specs   of the bucket's inputs
    """

    def __init__(self, dimensions: Dimensions, specs: Mapping[str, TensorSpec]) -> None:
        self.turn = Lock()
        self._arrays = {
            name: np.empty(spec.shape, numpy_type(spec.dtype))
            for name, spec in specs.items()
            if any(name in one.rows for one in dimensions.each)
        }

    def filled(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """The arrays at the bucket's sizes, until the next call; their last rows are repeated.

        The network can surely take these.
        """
        for name, whole in self._arrays.items():
            given = arrays[name]
            whole[tuple(map(slice, given.shape))] = given
            for axis, extent in enumerate(given.shape):  # later axes repeat what earlier ones did
                if extent < whole.shape[axis]:
                    rows = whole.swapaxes(0, axis)
                    rows[extent:] = rows[extent - 1]
        return {**arrays, **self._arrays}
