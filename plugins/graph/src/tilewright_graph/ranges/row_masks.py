"""Masks in a network: rows beyond the last that were given are made to change nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.network import Network
from tilewright_graph.ranges.rows import Mask
from tilewright_tensor.evaluation.tails import Number
from tilewright_tensor.expressions.dtype import numpy_type
from tilewright_tensor.operators.operators import Operators


def with_masks(
    network: Network, name: str, rows: int, masks: Sequence[Mask], operators: Operators
) -> Network:
    """The network with such an input, and what the masks say done to operands of its nodes."""
    builder = NetworkBuilder.before(network, operators)
    builder.mask(name, rows)
    masked: dict[tuple[str, int, Number], str] = {}
    of_nodes: dict[str, list[Mask]] = defaultdict(list)
    for one in masks:
        of_nodes[one.output].append(one)

    def with_mask(tensor: str, axis: int, value: Number) -> str:
        key = tensor, axis, value
        if key not in masked:
            spec = builder.specs[tensor]
            ones = [1] * len(spec.shape)
            shape = [*ones[:axis], rows, *ones[axis + 1 :]]
            given = builder.apply("reshape", [name], {"shape": shape})
            other = builder.constant(np.full(ones, value, numpy_type(spec.dtype)), "beyond")
            masked[key] = builder.apply("where", [given, tensor, other], name=f"{tensor}.given")
        return masked[key]

    for node in network.nodes:
        operands = list(node.inputs)
        for one in of_nodes[node.output]:
            operands[one.operand] = with_mask(operands[one.operand], one.axis, one.value)
        builder.adopt(replace(node, inputs=tuple(operands)), network)
    made = builder.network(network.outputs, network.observed, network.source)
    return replace(made, origin=network.origin)
