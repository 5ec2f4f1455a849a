"""Concats, slices and transposes that copy nothing: one tensor is a part of another's memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod

from tilewright.vocabulary.config import Layouts
from tilewright.vocabulary.workload import TensorSpec
from tilewright_graph.extraction.kernel_node import KernelNode
from tilewright_graph.extraction.memory_plan import ALIGNMENT
from tilewright_graph.extraction.transforms import logical_layout, same_bytes
from tilewright_graph.network.network import Network, Node
from tilewright_tensor.expressions.dtype import ITEM_BYTES
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.operators.definition.operator_def import OperatorDef, joined_axis
from tilewright_tensor.operators.definition.order_of_axes import order_of_axes
from tilewright_tensor.operators.operators import Operators


@dataclass(frozen=True, slots=True)
class Aliases:
    """Tensors inside another: bytes from its start to each of them."""

    whole: str
    places: Mapping[str, int]


def aliased(
    network: Network,
    kernels: Sequence[KernelNode],
    root: Callable[[str], str],
    operators: Operators,
) -> frozenset[str]:
    """Keys of the concats, slices and transposes that need not copy, where layouts permit.

    A concat need not where a kernel makes each operand, nothing outside the network sees it, and no
    earlier concat has it already; it may itself be made inside another. A slice or transpose need
    not where that holds for its result, and a kernel makes what it reads.
    """
    made = {kernel.output for kernel in kernels} - set(network.results)
    free = set(made)
    plain = [kernel for kernel in kernels if not kernel.task.workload.epilogue]
    traits = {kernel.key: operators[kernel.task.workload.operator] for kernel in plain}
    found = set()
    for kernel in plain:
        operands = set(kernel.inputs)
        joins = traits[kernel.key].concatenates and len(operands) == len(kernel.inputs)
        if joins and kernel.output in free and operands <= free:
            found.add(kernel.key)
            free -= operands
    for kernel in plain:
        moves = traits[kernel.key].slices is not None or _order(kernel, operators) is not None
        if moves and kernel.output in free and root(kernel.inputs[0]) in made:
            found.add(kernel.key)
    return frozenset(found)


def parts_of(
    kernel: KernelNode, layouts: Layouts, specs: Mapping[str, TensorSpec], operators: Operators
) -> Aliases | None:
    """What lies in what where a kernel of these layouts is no call; None where it must copy.

    None unless every part is one aligned run of the whole: nothing outside the axis that is
    joined or cut in memory, as in NCHW16c for one image. A transpose copies nothing where its
    result is laid out in the order of its operand.
    """
    (result,) = layouts.outputs
    order = _order(kernel, operators)
    if order is not None:
        seen = Layout.parse(layouts.inputs[0]).turned(order)
        alike = same_bytes(specs[kernel.output], seen.text, result)
        return Aliases(kernel.inputs[0], {kernel.output: 0}) if alike else None
    if set(layouts.inputs) != {result}:
        return None
    workload = kernel.task.workload
    layout, made = Layout.parse(result), specs[kernel.output]
    if slices := operators[workload.operator].slices:
        whole = kernel.inputs[0]
        taken = slices(specs[whole].shape, workload.attributes)
        place = _cut(layout, specs[whole], taken)
        return None if place is None else Aliases(whole, {kernel.output: place})
    axis = joined_axis([specs[name].shape for name in kernel.inputs], made.shape)
    begins = accumulate((specs[name].shape[axis] for name in kernel.inputs[:-1]), initial=0)
    found = {
        name: _run(layout, made, axis, begin)
        for name, begin in zip(kernel.inputs, begins, strict=True)
    }
    places = {name: place for name, place in found.items() if place is not None}
    return Aliases(kernel.output, places) if len(places) == len(found) else None


def _order(kernel: KernelNode, operators: Operators) -> tuple[int, ...] | None:
    """Of a transpose. A concat of one operand is none: that lies in its result, not the reverse."""
    workload = kernel.task.workload
    definition = operators[workload.operator]
    if definition.concatenates:
        return None
    return order_of_axes(definition, workload.inputs, workload.attributes)


def is_inner_run(network: Network, node: Node, definition: OperatorDef) -> bool:
    """Whether a node cuts one aligned run, in logical order, from an inner tensor as another."""
    if not definition.slices or node.inputs[0] not in network.producers:
        return False
    if {node.inputs[0], node.output}.intersection(network.results):
        return False
    whole = network.specs[node.inputs[0]]
    taken = definition.slices(whole.shape, node.attributes)
    return _cut(Layout.parse(logical_layout(whole)), whole, taken) is not None


def _cut(layout: Layout, whole: TensorSpec, taken: Sequence[range]) -> int | None:
    """Bytes from the start of a tensor to the ranges that are taken of it."""
    cut = [axis for axis in range(layout.rank) if len(taken[axis]) != whole.shape[axis]]
    if len(cut) > 1 or not layout.divides([len(one) for one in taken]):
        return None
    if any(one.step != 1 for one in taken):
        return None
    axis = cut[0] if cut else 0
    return _run(layout, whole, axis, taken[axis].start)


def _run(layout: Layout, whole: TensorSpec, axis: int, begin: int) -> int | None:
    """Bytes from the start of a tensor to where the rest of an axis is one aligned run."""
    first = next(i for i, dim in enumerate(layout.dims) if dim.axis == axis)
    outside = prod(layout.physical_shape(whole.shape)[:first])
    if (
        outside > 1
        or layout.dims[first].extent
        or begin % layout.blocks[axis]
        or not layout.divides(whole.shape)
    ):
        return None
    item_bytes = ITEM_BYTES[layout.storage(whole.dtype)]
    place = begin * prod(whole.shape) // whole.shape[axis] * item_bytes
    return place if place % ALIGNMENT == 0 else None
