"""A network computed by the operators' references: what everything else is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tilewright_graph.network import Network, Node
from tilewright_tensor.operators.operators import Operators


def evaluate(network: Network, inputs: Mapping[str, Any], operators: Operators) -> dict[str, Any]:
    """Outputs and observed tensors by name, in float64, nothing rounded in between. Slow."""
    values = {name: np.asarray(array) for name, array in network.constants.items()}
    values.update({name: np.asarray(inputs[name]) for name in network.inputs})
    for node in network.nodes:
        values[node.output] = evaluate_node(node, [values[name] for name in node.inputs], operators)
    return {name: values[name] for name in network.results}


def evaluate_node(node: Node, arrays: Sequence[Any], operators: Operators) -> Any:
    """A node's output in float64."""
    wide = [array.astype(np.float64) if array.dtype.kind == "f" else array for array in arrays]
    return operators.evaluate(node.operator, wide, node.attributes)
