"""Results of which values decide how many rows they have."""

from __future__ import annotations

from typing import Any

from tilewright_graph.network.network import Network
from tilewright_tensor.operators.operators import Operators


def counted_results(network: Network, operators: Operators) -> tuple[str, ...]:
    """The outputs and observed tensors that a counted operator makes (see `OperatorDef`)."""
    return tuple(
        name for name in network.made if operators[network.producers[name].operator].counted
    )


def counted_rows(rows: Any) -> Any:
    """Those that are rows: what fills a counted tensor up begins with -1."""
    return rows[: int((rows[:, 0] >= 0).sum())]
