"""A network as a PyTorch module: the same operators, biases given to the layers before them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import fx, nn
from torch.nn import functional

from tilewright_graph.network.network import Network, Node


def torch_network(network: Network) -> fx.GraphModule:
    """Returns what the network observes (logits), or else its first output.

    Raises ValueError for an operator that is not among those of the ResNets.
    """
    return _Translation(network).module()


class _Translation:
    def __init__(self, network: Network) -> None:
        self._network = network
        self._root = nn.Module()
        self._graph = fx.Graph()
        self._values: dict[str, fx.Node] = {}

    def module(self) -> fx.GraphModule:
        network = self._network
        for name in network.inputs:
            self._values[name] = self._graph.placeholder(f"input{len(self._values)}")
        biases = self._biases()
        for node in network.nodes:
            if node in biases.values():
                continue
            follower = next((add for first, add in biases.items() if first == node.output), None)
            value = self._call(node, self._bias(follower) if follower else None)
            self._values[follower.output if follower else node.output] = value
        self._graph.output(self._values[(*network.observed, *network.outputs)[0]])
        return fx.GraphModule(self._root, self._graph)

    def _biases(self) -> Mapping[str, Node]:
        """By a layer's output: the addition of a constant that alone reads it."""
        network = self._network
        return {
            name: node
            for node in network.nodes
            if node.operator == "add"
            for name, other in (node.inputs, node.inputs[::-1])
            if other in network.constants
            and name in network.producers
            and network.producers[name].operator in ("conv2d", "dense")
            and network.readers[name] == 1
        }

    def _bias(self, add: Node) -> fx.Node:
        (name,) = (name for name in add.inputs if name in self._network.constants)
        return self._constant(np.reshape(self._network.constants[name], -1))

    def _call(self, node: Node, bias: fx.Node | None) -> fx.Node:
        operands = [self._value(name) for name in node.inputs]
        a = node.attributes

        def call(function: Any, *arguments: Any, **options: Any) -> fx.Node:
            return self._graph.call_function(function, arguments, options)

        match node.operator:
            case "conv2d":
                return call(
                    functional.conv2d, *operands, bias, tuple(a["strides"]), _symmetric(a),
                    tuple(a["dilation"]), a["groups"],
                )  # fmt: skip
            case "dense":
                return call(functional.linear, *operands, bias)
            case "max_pool2d":
                return call(
                    functional.max_pool2d, *operands, tuple(a["pool_size"]), tuple(a["strides"]),
                    _symmetric(a), ceil_mode=a["ceil_mode"],
                )  # fmt: skip
            case "global_avg_pool2d":
                return call(functional.adaptive_avg_pool2d, *operands, 1)
            case "flatten" | "reshape":
                return call(torch.flatten, *operands, 1)
            case "add":
                return call(torch.add, *operands)
            case "relu":
                return call(functional.relu, *operands)
            case "softmax":
                return call(functional.softmax, *operands, dim=a["axis"])
        raise ValueError(f"no counterpart of {node.operator} in PyTorch is known here")

    def _value(self, name: str) -> fx.Node:
        if name not in self._values:
            self._values[name] = self._constant(self._network.constants[name])
        return self._values[name]

    def _constant(self, array: Any) -> fx.Node:
        name = f"constant{len(self._root._buffers)}"
        self._root.register_buffer(name, torch.from_numpy(np.array(array)))
        return self._graph.get_attr(name)


def _symmetric(attributes: Mapping[str, Any]) -> tuple[int, ...]:
    padding = tuple(attributes["padding"])
    half = len(padding) // 2
    if padding[:half] != padding[half:]:
        raise ValueError(f"padding {padding} differs between sides")
    return padding[:half]
