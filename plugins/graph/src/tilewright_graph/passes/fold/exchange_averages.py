"""Average pooling next to convolutions of single pixels: each pair in the order of less work."""

from __future__ import annotations

from math import prod

from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.network import Network, Node
from tilewright_graph.passes.fold.remove_dead import remove_dead
from tilewright_graph.passes.rewrite import rewrite
from tilewright_tensor.operators.operators import Operators

_PAIR = {"avg_pool2d", "conv2d"}


def exchange_averages(network: Network, operators: Operators) -> Network:
    """The network with averages in front of convolutions of single pixels, or behind them.

    One averages pixels within channels, the other adds up channels within pixels: in either order
    they give the same. An average of every second pixel leaves a convolution behind it a quarter of
    its work; behind a convolution to fewer channels fewer are averaged.
    """
    return remove_dead(rewrite(network, operators, _exchange), operators)


def _exchange(node: Node, network: Network, builder: NetworkBuilder) -> str | None:
    if node.operator not in _PAIR:
        return None
    first = builder.producer(node.inputs[0])
    if first is None or {node.operator, first.operator} != _PAIR:
        return None
    average, convolution = (node, first) if node.operator == "avg_pool2d" else (first, node)
    if network.readers.get(first.output) != 1 or not _is_of_single_pixels(convolution, builder):
        return None
    image, result = builder.specs[first.inputs[0]].shape, network.specs[node.output].shape
    window = prod(average.attributes["pool_size"])
    terms = result[1] * builder.specs[convolution.inputs[1]].shape[1]
    average_first = prod(result[2:]) * (image[1] * window + terms)
    average_last = prod(result[2:]) * result[1] * window + prod(image[2:]) * terms
    saved = average_last - average_first
    if (saved if average is node else -saved) <= 0:
        return None
    operands = first.inputs[0], *node.inputs[1:]
    between = builder.apply(node.operator, operands, node.attributes, name=node.name)
    operands = between, *first.inputs[1:]
    return builder.apply(
        first.operator, operands, first.attributes, name=first.name, output=node.output
    )


def _is_of_single_pixels(node: Node, builder: NetworkBuilder) -> bool:
    """Whether a convolution makes each pixel of one, and none besides."""
    taps = builder.specs[node.inputs[1]].shape[2:]
    alone = prod(taps) == prod(node.attributes["strides"]) == 1
    return alone and not any(node.attributes["padding"])
