"""Functions of one tensor that are written in several nodes, and have an operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from tilewright.vocabulary.workload import TensorSpec, Workload
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.network import Network, Node
from tilewright_graph.passes.rewrite import rewrite
from tilewright_tensor.expressions.dtype import ITEM_BYTES, is_float
from tilewright_tensor.operators.operators import Operators

_MOST_NODES = 12
_CLOSE = 5e-7
"""What a few roundings of constants and values to float32 make, of the operand or the value."""

_SIZES = np.ldexp(np.linspace(1, 2, 16, endpoint=False), np.arange(-24, 128)[:, None]).ravel()
_POINTS = np.concatenate([-_SIZES[::-1], [0.0], _SIZES])
"""Sixteen floats between powers of two, of either sign, up to the largest of float32."""
_SPEC = TensorSpec(_POINTS.shape, "float64")


def known_functions(network: Network, operators: Operators) -> Network:
    """The network with one operator for the nodes of a function that reads a tensor repeatedly.

    `x * sigmoid(x)` becomes `silu(x)`, which fuses with what makes x; a tensor that two nodes read
    does not. The nodes are element-wise, and what they read besides are single numbers, so that
    they are a function of a number; it is the operator that has its values at floats of either sign
    and any magnitude. How it is written does not matter, nor how its constants were rounded.
    """
    places = {node.output: place for place, node in enumerate(network.nodes)}

    @cache
    def known() -> Mapping[str, Any]:
        return {
            name: operators.evaluate(Workload(name, (_SPEC,), {}), [_POINTS])
            for name, definition in operators.items()
            if definition.elementwise and definition.reference
            and len(definition.operands) == 1 and not definition.attributes
        }  # fmt: skip

    def replace(node: Node, network: Network, builder: NetworkBuilder) -> str | None:
        for stem, group in _functions(node, network, builder, places):
            values = _values(stem, group, builder)
            for name, those in known().items():
                size = np.maximum(np.abs(_POINTS), np.abs(those))
                if (np.abs(values - those) <= _CLOSE * size).all():
                    return builder.apply(name, [stem], name=node.name, output=node.output)
        return None

    with np.errstate(all="ignore"):
        return rewrite(network, operators, replace)


def _functions(
    node: Node, network: Network, builder: NetworkBuilder, places: Mapping[str, int]
) -> Iterator[tuple[str, Sequence[Node]]]:
    """The functions that end with a node: (their operand, read repeatedly; their nodes in order).

    Each is the one before and the node that makes the latest of the tensors that this one reads.
    """
    group, inside = [node], {node.output}
    spec = network.specs[node.output]
    if not is_float(spec.dtype) or ITEM_BYTES[spec.dtype] > ITEM_BYTES["float32"]:
        return
    while len(group) <= _MOST_NODES:
        first = group[0]
        definition = builder.operators[first.operator]
        if not definition.elementwise or not definition.reference:
            return
        if builder.specs.get(first.output, spec) != spec:
            return
        reads = Counter(
            name for one in group for name in one.inputs
            if name not in inside and not _is_number(name, builder)
        )  # fmt: skip
        latest = max(reads, key=lambda name: places.get(name, -1), default="")
        if len(reads) == 1 and reads[latest] > 1 and _spec_of(latest, builder) == spec:
            yield latest, group
        maker = builder.producer(latest)
        if maker is None or network.readers.get(latest) != reads[latest]:
            return
        group = [maker, *group]
        inside.add(latest)


def _is_number(name: str, builder: NetworkBuilder) -> bool:
    return name in builder.constants and builder.constants[name].size == 1


def _spec_of(name: str, builder: NetworkBuilder) -> TensorSpec:
    """Without its role."""
    spec = builder.specs[name]
    return TensorSpec(spec.shape, spec.dtype)


def _values(stem: str, group: Sequence[Node], builder: NetworkBuilder) -> Any:
    values = {stem: _POINTS}
    for node in group:
        for name in node.inputs:
            if name not in values:
                values[name] = builder.constants[name].reshape(1)
        operands = [values[name] for name in node.inputs]
        specs = tuple(TensorSpec(array.shape, _SPEC.dtype) for array in operands)
        workload = Workload(node.operator, specs, node.attributes)
        values[node.output] = builder.operators.evaluate(workload, operands)
    return values[group[-1].output]
