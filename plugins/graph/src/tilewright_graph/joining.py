"""Concats that copy nothing: their operands are made where the result has them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tilewright.layouts import Layouts
from tilewright_graph.memory_plan import ALIGNMENT
from tilewright_graph.network import Network
from tilewright_tensor.layout import Layout

if TYPE_CHECKING:
    from tilewright_graph.extraction import ExtractedNetwork, KernelNode

JOINING = "concat"


def joinable(network: Network, kernels: Sequence[KernelNode]) -> frozenset[str]:
    """Keys of the concats whose operands can all be made inside the result.

    An operand can be where a kernel makes it, nothing outside the network sees it, and no earlier
    concat has it already. A result may itself be made inside another.
    """
    free = {kernel.output for kernel in kernels} - set(network.results)
    found = set()
    for kernel in kernels:
        operands = set(kernel.inputs)
        distinct = len(operands) == len(kernel.inputs)
        if _is_plain_concat(kernel) and distinct and kernel.output in free and operands <= free:
            found.add(kernel.key)
            free -= operands
    return frozenset(found)


def operand_places(
    extracted: ExtractedNetwork, kernel: KernelNode, layouts: Layouts
) -> tuple[int, ...] | None:
    """Bytes from the start of a concat's result to each of its operands, None where it must copy.

    It must unless every operand is one aligned run of the result: nothing outside the axis of the
    concat in memory, as in NCHW16c for one image.
    """
    (result,) = layouts.outputs
    if kernel.key not in extracted.joinable or set(layouts.inputs) != {result}:
        return None
    layout, specs = Layout.parse(result), extracted.network.specs
    shapes = [specs[name].shape for name in kernel.inputs]
    axis = kernel.task.workload.attributes["axis"] % layout.rank
    outer = next(i for i, dim in enumerate(layout.dims) if dim.axis == axis)
    if not all(map(layout.divides, shapes)) or prod(layout.physical_shape(shapes[0])[:outer]) > 1:
        return None
    size = np.dtype(specs[kernel.output].dtype).itemsize
    ends = list(accumulate(prod(shape) * size for shape in shapes))
    return (0, *ends[:-1]) if all(end % ALIGNMENT == 0 for end in ends[:-1]) else None


def _is_plain_concat(kernel: KernelNode) -> bool:
    workload = kernel.task.workload
    return workload.operator == JOINING and not workload.epilogue
