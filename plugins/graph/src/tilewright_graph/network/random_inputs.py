"""Inputs for a network that has none at hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.vocabulary.workload import TensorSpec
from tilewright_graph.network.network import Network
from tilewright_tensor.expressions.dtype import is_float, numpy_type


def random_inputs(network: Network, seed: int) -> dict[str, Any]:
    """Seeded inputs by name, as `random_arrays` makes them."""
    return random_arrays({name: network.specs[name] for name in network.asked}, seed)


def random_arrays(specs: Mapping[str, TensorSpec], seed: int) -> dict[str, Any]:
    """Seeded arrays by name: floats standard normal, like a normalised image; integers 0 or 1."""
    rng = np.random.default_rng(seed)
    made = {}
    for name, spec in specs.items():
        if is_float(spec.dtype):
            made[name] = rng.standard_normal(spec.shape).astype(numpy_type(spec.dtype))
        else:
            made[name] = rng.integers(0, 2, spec.shape).astype(spec.dtype)
    return made
