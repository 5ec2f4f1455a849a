"""A network computed by the operators' references: what everything else is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.vocabulary.workload import TensorSpec, Workload
from tilewright_graph.network.counted_rows import counted_results, counted_rows
from tilewright_graph.network.network import Network, Node
from tilewright_tensor.operators.operators import Operators


def evaluate(network: Network, inputs: Mapping[str, Any], operators: Operators) -> dict[str, Any]:
    """Outputs and observed tensors by name, in float64, nothing rounded in between. Slow."""
    values = {name: np.asarray(array) for name, array in network.constants.items()}
    values |= {name: np.ones(network.specs[name].shape, np.bool_) for name in network.masks}
    values |= {name: np.asarray(array) for name, array in inputs.items()}
    for node in network.nodes:
        values[node.output] = evaluate_node(node, network.specs, values, operators)
    for name in counted_results(network, operators):
        values[name] = counted_rows(values[name])
    return {name: values[name] for name in network.results}


def evaluate_node(
    node: Node, specs: Mapping[str, TensorSpec], values: Mapping[str, Any], operators: Operators
) -> Any:
    """A node's output in float64, of tensors by name."""
    workload = Workload(node.operator, tuple(specs[t] for t in node.inputs), node.attributes)
    return operators.evaluate(workload, [values[name] for name in node.inputs])
