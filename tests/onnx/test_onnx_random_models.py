"""Random models at fallback configs: what is read gives ONNX Runtime's answers."""

from __future__ import annotations

import numpy as np
import pytest
from random_model import RandomModel

import tilewright
from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_onnx.reader import read_model

DEFAULT, WHOLE = 100, 2000
TOLERANCES = {"float16": 2e-2, "float32": 2e-4, "float64": 1e-6}
"""Of the largest value of an output, by the coarsest dtype among up to nine nodes before it."""

LEAST_READ = 0.7
"""The share of models that are not refused."""


@pytest.fixture(scope="module")
def host() -> PluginHost:
    return PluginHost.load()


def check(seed: int, host: PluginHost) -> bool:
    """Whether a seed's model is read; asserts that its answers are right."""
    model = RandomModel(seed)
    if not model.outputs:
        return True
    try:
        network = read_model(model.proto, NetworkBuilder.of("random", host), model.shapes)
    except UsageError:
        return False
    compiled = tilewright.compile(network, target="x86:threads=1", host=host)
    found = compiled.run([model.inputs[name] for name in network.inputs])
    for tensor in model.outputs:
        expected, answer = model.expected()[tensor.name], found[tensor.name]
        assert answer.shape == expected.shape, f"{tensor.name} of {model}"
        assert answer.dtype == expected.dtype, f"{tensor.name} of {model}"
        if tensor.exact or not tensor.is_float:
            np.testing.assert_array_equal(answer, expected, f"{tensor.name} of {model}")
            continue
        largest = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(
            answer.astype("float64"),
            expected.astype("float64"),
            rtol=0,
            atol=TOLERANCES[tensor.coarsest] * largest,
            err_msg=f"{tensor.name} of {model}",
        )
    return True


def test_the_models_are_broad():
    models = [RandomModel(seed) for seed in range(DEFAULT)]
    kinds = {node.op_type for model in models for node in model.nodes}
    assert len(kinds) > 60
    assert {model.opset for model in models} == set(range(11, 23))
    assert sum(bool(model.shapes) for model in models) > DEFAULT / 4
    assert {tensor.dtype for model in models for tensor in model.tensors} >= {
        "float32", "float64", "float16", "int32", "int64", "bool", "uint8",
    }  # fmt: skip


@pytest.mark.parametrize("group", range(4))
def test_random_models_are_right_or_refused_in_one_line(group, host):
    seeds = range(group, DEFAULT, 4)
    read = sum(check(seed, host) for seed in seeds)
    assert read >= LEAST_READ * len(seeds)


@pytest.mark.full
@pytest.mark.parametrize("group", range(40))
def test_two_thousand_random_models_are_right_or_refused_in_one_line(group, host):
    seeds = range(group, WHOLE, 40)
    read = sum(check(seed, host) for seed in seeds)
    assert read >= LEAST_READ * len(seeds)
