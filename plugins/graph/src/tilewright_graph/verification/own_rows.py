"""What a network's counted outputs are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright_graph.network.counted_rows import counted_results, counted_rows
from tilewright_graph.network.evaluate import evaluate_node
from tilewright_graph.network.network import Network
from tilewright_tensor.operators.operators import Operators


def with_own_rows(
    network: Network,
    inputs: Mapping[str, Any],
    ours: Mapping[str, Any],
    theirs: Mapping[str, Any],
    operators: Operators,
) -> dict[str, Any]:
    """The oracle's answers, but rows that values count as the reference makes them of ours.

    One rounding more or less in a score, and another box is kept. So what the operator reads is
    compared with the oracle's, and its rows with those that belong to what it read. Where that is
    not observed, they are compared with the oracle's.
    """
    values = {**network.constants, **inputs, **ours}
    found = dict(theirs)
    for name in counted_results(network, operators):
        node = network.producers[name]
        if name in theirs and all(operand in values for operand in node.inputs):
            found[name] = counted_rows(evaluate_node(node, network.specs, values, operators))
    return found
