"""Networks of the zoo, written as ONNX: what they consist of, and what they answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tilewright.errors import UsageError
from tilewright.vocabulary.target import Target
from tilewright_graph.extraction.extraction import extract
from tilewright_graph.frontends.zoo.zoo_frontend import ZooFrontend
from tilewright_graph.frontends.zoo.zoo_options import ZooOptions
from tilewright_graph.passes.builtin import BUILTIN_PASSES
from tilewright_graph.passes.graph_pass import apply_passes
from tilewright_onnx.model.writer import write_model
from tilewright_onnx.reader import read_model
from tilewright_tensor.operators.operators import builtin_operators

LOG = Path(__file__).parent / "data" / "autotvm-v0.1-resnet18-cuda.jsonl"
"""TVM AutoTVM log of the public forum, v0.1: the tuned convolutions of a ResNet-18."""


@pytest.fixture
def zoo(host):
    def read(name: str = "zoo:resnet-18", shapes=None, seed=None, **options):
        return ZooFrontend(ZooOptions(**options), host).read(name, shapes or {}, seed)

    return read


def convolutions(network):
    operators = builtin_operators()
    passed = apply_passes(network, BUILTIN_PASSES, operators)
    kernels = extract(passed, Target("x86"), operators).kernels
    return [k.task.workload.anchor for k in kernels if k.task.workload.operator == "conv2d"]


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_resnet18_has_21_convolutions_and_the_12_anchors_of_the_public_log(zoo, layout):
    found = convolutions(zoo(layout=layout))
    assert len(found) == 21
    distinct = {
        (
            *(tuple(spec.shape) for spec in anchor.inputs),
            *(tuple(anchor.attributes[name]) for name in ("strides", "padding", "dilation")),
        )
        for anchor in found
    }
    lines = LOG.read_text().splitlines()
    logged = set()
    for line in lines:
        _, data, weight, *numbers = json.loads(line)["i"][4]
        logged.add((tuple(data[:4]), tuple(weight[:4]), *map(tuple, numbers[:3])))
    assert len(lines) == 12
    assert distinct == logged
    assert len({anchor.key for anchor in found}) == 12


@pytest.mark.parametrize(
    "options", [{"size": 64}, {"size": 33, "batch": 3}, {"size": 64, "batch": 2, "layout": "NHWC"}]
)
def test_resnet18_compiled_agrees_with_onnx_runtime(zoo, options, compiled_on_x86, verified_on_x86):
    network = zoo(**options)
    assert verified_on_x86(compiled_on_x86(network), network, 1e-4).ok


def test_layouts_give_the_same_answers(zoo, oracle):
    import numpy as np

    wide, deep = zoo(size=32), zoo(size=32, layout="NHWC")
    image = np.random.default_rng(0).standard_normal((1, 3, 32, 32), np.float32)
    (first,) = oracle.run(wide, {"data": image}, ()).values()
    (second,) = oracle.run(deep, {"data": image.transpose(0, 2, 3, 1).copy()}, ()).values()
    np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-6)


def test_a_written_network_is_read_back_as_it_was(zoo):
    from tilewright_graph.network.builder import NetworkBuilder

    network = zoo(size=32)
    again = read_model(write_model(network), NetworkBuilder("resnet-18"), {})
    assert [anchor.key for anchor in convolutions(again)] == [
        anchor.key for anchor in convolutions(network)
    ]
    assert again.observed == network.observed


def test_a_seed_decides_the_weights(zoo):
    first, again, other = (zoo(seed=seed, size=32) for seed in (1, 1, 2))
    name = next(iter(first.constants))
    assert (first.constants[name] == again.constants[name]).all()
    assert (first.constants[name] != other.constants[name]).any()


def test_an_unknown_name_gives_the_nearest(zoo):
    with pytest.raises(UsageError, match=r"no network 'resnet-81'\n.*resnet-18"):
        zoo("zoo:resnet-81")


def test_shapes_are_refused(zoo):
    with pytest.raises(UsageError, match="no dynamic dimensions"):
        zoo(shapes={"data": (1, 3, 64, 64)})


def test_an_operator_that_onnx_lacks_is_named_with_its_node():
    from tilewright_graph.network.builder import NetworkBuilder

    b = NetworkBuilder("net")
    x = b.layout_transform(b.input("x", (1, 8, 3, 3)), src="NCHW", dst="NHWC")
    with pytest.raises(UsageError, match=r"net: node 'layout_transform': ONNX has no operator"):
        write_model(b.network([x]))
