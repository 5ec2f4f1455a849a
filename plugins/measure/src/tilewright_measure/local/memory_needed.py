"""What a worker must at least hold at once to measure a task."""

from __future__ import annotations

from math import prod

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.task_set import TaskSet
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


def check_fits(tasks: TaskSet, host: PluginHost, memory_bytes: int, runner: str) -> None:
    """Raise UsageError for a task whose operands a worker of the runner cannot hold.

    memory_bytes   what a worker may have, 0 for no bound
    """
    for entry in tasks:
        workload = entry.task.workload
        needed = bytes_to_check(workload, host)
        if 0 < memory_bytes < needed:
            text = host.reference(workload.operator).format(workload)
            enough = 2 * -(-needed >> 30)
            raise UsageError(
                f"{text}: its operands and the right answer take {needed / 2**30:.1f} GiB, "
                f"a worker may have {memory_bytes / 2**30:.1f}",
                remedy=f"make it smaller, or say runner: {{{runner}: {{memory_gib: {enough}}}}}",
            )


def address_space(device: Device, limit_bytes: int) -> int:
    """Bound on a worker's address space; none where the device shares it.

    The driver of such a device reserves terabytes, as much as it and the machine have together.
    """
    return 0 if device.attributes.get("unified_addressing") else limit_bytes
