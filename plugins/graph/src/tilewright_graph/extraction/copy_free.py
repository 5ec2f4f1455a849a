"""Concats and slices that copy nothing: of two tensors one is a part of the other's memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.vocabulary.layouts import Layouts
from tilewright.vocabulary.workload import TensorSpec
from tilewright_graph.extraction.memory_plan import ALIGNMENT
from tilewright_graph.extraction.transforms import logical_layout
from tilewright_graph.network.network import Network, Node
from tilewright_tensor.layouts.layout import Layout

if TYPE_CHECKING:
    from tilewright_graph.extraction.extraction import ExtractedNetwork, KernelNode

JOINING, PARTING = "concat", "slice"


@dataclass(frozen=True, slots=True)
class Parts:
    """Tensors inside another: bytes from its start to each of them."""

    whole: str
    places: Mapping[str, int]


def copy_free(
    network: Network, kernels: Sequence[KernelNode], root: Callable[[str], str]
) -> frozenset[str]:
    """Keys of the concats and slices that need not copy, where layouts permit.

    A concat need not where a kernel makes each operand, nothing outside the network sees it, and no
    earlier concat has it already; it may itself be made inside another. A slice need not where that
    holds for its result, and a kernel makes what it cuts.
    """
    made = {kernel.output for kernel in kernels} - set(network.results)
    free = set(made)
    plain = [kernel for kernel in kernels if not kernel.task.workload.epilogue]
    found = set()
    for kernel in plain:
        operands = set(kernel.inputs)
        distinct = len(operands) == len(kernel.inputs)
        joins = kernel.task.workload.operator == JOINING
        if joins and distinct and kernel.output in free and operands <= free:
            found.add(kernel.key)
            free -= operands
    for kernel in plain:
        cuts = kernel.task.workload.operator == PARTING
        if cuts and kernel.output in free and root(kernel.inputs[0]) in made:
            found.add(kernel.key)
    return frozenset(found)


def parts_of(extracted: ExtractedNetwork, kernel: KernelNode, layouts: Layouts) -> Parts | None:
    """What lies in what where a kernel of these layouts is no call, None where it must copy.

    It must unless every part is one aligned run of the whole: nothing outside the axis that is
    joined or cut in memory, as in NCHW16c for one image.
    """
    (result,) = layouts.outputs
    if kernel.key not in extracted.copy_free or set(layouts.inputs) != {result}:
        return None
    specs, attributes = extracted.network.specs, kernel.task.workload.attributes
    layout, made = Layout.parse(result), specs[kernel.output]
    if kernel.task.workload.operator == PARTING:
        whole = kernel.inputs[0]
        place = _cut(layout, specs[whole], made, attributes)
        return None if place is None else Parts(whole, {kernel.output: place})
    axis = attributes["axis"] % layout.rank
    begins = accumulate((specs[name].shape[axis] for name in kernel.inputs[:-1]), initial=0)
    found = {
        name: _run(layout, made, axis, begin)
        for name, begin in zip(kernel.inputs, begins, strict=True)
    }
    places = {name: place for name, place in found.items() if place is not None}
    return Parts(kernel.output, places) if len(places) == len(found) else None


def is_inner_run(network: Network, node: Node) -> bool:
    """Whether a node cuts one aligned run, in logical order, from an inner tensor as another."""
    if node.operator != PARTING or node.inputs[0] not in network.producers:
        return False
    if {node.inputs[0], node.output}.intersection(network.results):
        return False
    whole, part = network.specs[node.inputs[0]], network.specs[node.output]
    return _cut(Layout.parse(logical_layout(whole)), whole, part, node.attributes) is not None


def _cut(
    layout: Layout, whole: TensorSpec, part: TensorSpec, attributes: Mapping[str, Any]
) -> int | None:
    """Bytes from the start of a tensor to a slice of it."""
    cut = [axis for axis in range(layout.rank) if whole.shape[axis] != part.shape[axis]]
    if len(cut) > 1 or not layout.divides(part.shape):
        return None
    if any(step != 1 for step in attributes.get("strides", ())):
        return None
    axis = cut[0] if cut else 0
    begin = slice(attributes["begin"][axis], None).indices(whole.shape[axis])[0]
    return _run(layout, whole, axis, begin)


def _run(layout: Layout, whole: TensorSpec, axis: int, begin: int) -> int | None:
    """Bytes from the start of a tensor to where the rest of an axis is one aligned run."""
    first = next(i for i, dim in enumerate(layout.dims) if dim.axis == axis)
    outside = prod(layout.physical_shape(whole.shape)[:first])
    if outside > 1 or begin % layout.blocks[axis] or not layout.divides(whole.shape):
        return None
    place = begin * prod(whole.shape) // whole.shape[axis] * np.dtype(whole.dtype).itemsize
    return place if place % ALIGNMENT == 0 else None
