"""Average pooling over a whole image."""

from __future__ import annotations

from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.network import Network, Node
from tilewright_graph.passes.rewrite import rewrite
from tilewright_tensor.operators.operators import Operators


def global_pooling(network: Network, operators: Operators) -> Network:
    """The network with every avg_pool2d whose one window is the image as global_avg_pool2d."""
    return rewrite(network, operators, _globalise)


def _globalise(node: Node, _network: Network, builder: NetworkBuilder) -> str | None:
    if node.operator != "avg_pool2d":
        return None
    image = builder.specs[node.inputs[0]].shape[2:]
    if tuple(node.attributes["pool_size"]) != image or any(node.attributes["padding"]):
        return None
    return builder.apply("global_avg_pool2d", node.inputs, name=node.name, output=node.output)
