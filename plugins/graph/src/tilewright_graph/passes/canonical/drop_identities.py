"""Nodes that change nothing."""

from __future__ import annotations

from tilewright.vocabulary.workload import Workload
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.network import Network, Node
from tilewright_graph.passes.rewrite import rewrite
from tilewright_tensor.operators.definition.gives_back import gives_back
from tilewright_tensor.operators.operators import Operators


def drop_identities(network: Network, operators: Operators) -> Network:
    """The network without nodes that give their operand back, by their operators' definitions.

    Identities, views and slices of the same shape, pads by nothing, transposes that keep the order,
    and concatenations of one are such. A result that only renames another tensor stays as a copy.
    """
    known: dict[Workload, bool] = {}

    def drop(node: Node, network: Network, builder: NetworkBuilder) -> str | None:
        if len(node.inputs) != 1 or node.output in network.results:
            return None
        (first,) = node.inputs
        spec, made = builder.specs[first], network.specs[node.output]
        if (spec.shape, spec.dtype) != (made.shape, made.dtype):
            return None
        workload = Workload(node.operator, (spec,), node.attributes)
        if workload not in known:
            known[workload] = gives_back(operators[node.operator], [spec], node.attributes)
        return first if known[workload] else None

    return rewrite(network, operators, drop)
