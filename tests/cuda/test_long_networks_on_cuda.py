"""Kernels that fusion puts together stay within what a launch takes."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.evaluate import evaluate
from tilewright_tensor.operators.operators import builtin_operators


@pytest.mark.needs("cuda", "graph")
def test_a_long_chain_with_many_operands_runs_under_emulation():
    b = NetworkBuilder("long")
    x = y = b.input("x", (1, 8))
    for number in range(70):
        y = b.maximum(y, x if number == 0 else np.full((1, 8), number / 100 - 1, "f4"))
    network = b.network([y])
    data = np.random.default_rng(0).uniform(-1, 1, (1, 8)).astype("f4")
    (expected,) = evaluate(network, {"x": data}, builtin_operators()).values()
    compiled = tilewright.compile(network, target="cuda:arch=sm_80", device="emulated")
    (found,) = compiled.run([data]).values()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
