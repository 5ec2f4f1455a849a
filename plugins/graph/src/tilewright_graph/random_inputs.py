"""Inputs for a network that has none at hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright_graph.network import Network


def random_inputs(network: Network, seed: int) -> dict[str, Any]:
    """Seeded inputs by name: floats standard normal, like a normalised image; integers 0 or 1."""
    rng = np.random.default_rng(seed)
    made = {}
    for name in network.inputs:
        spec = network.specs[name]
        if np.dtype(spec.dtype).kind == "f":
            made[name] = rng.standard_normal(spec.shape).astype(spec.dtype)
        else:
            made[name] = rng.integers(0, 2, spec.shape).astype(spec.dtype)
    return made
