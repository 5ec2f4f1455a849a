"""What a worker must at least hold at once to measure a task."""

from __future__ import annotations

from math import prod

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.workload import Workload

_WIDE = 8
"""Bytes of a float of the right answer, which is computed in float64."""


def bytes_to_check(workload: Workload, host: PluginHost) -> int:
    """Operands and output as they are, and once more in float64 where they are shorter floats."""
    import ml_dtypes  # noqa: F401  numpy knows bfloat16 by name then
    import numpy as np

    results = host.reference(workload.operator).output_shapes(workload)
    total = 0
    for shape, name in (*((spec.shape, spec.dtype) for spec in workload.inputs), *results):
        dtype = np.dtype(name)
        widened = _WIDE if dtype.kind == "f" and dtype.itemsize < _WIDE else 0
        total += prod(shape) * (dtype.itemsize + widened)
    return total
