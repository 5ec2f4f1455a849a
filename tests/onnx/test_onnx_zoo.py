"""Networks of the zoo, written as ONNX: what they consist of, and what they answer."""

from __future__ import annotations

import json
from itertools import pairwise
from math import prod
from pathlib import Path

import numpy as np
import pytest

from tilewright.errors import UsageError
from tilewright.vocabulary.target import Target
from tilewright_graph.extraction.extraction import extract
from tilewright_graph.frontends.zoo.layers import Layers
from tilewright_graph.frontends.zoo.zoo_frontend import ZOO, ZooFrontend
from tilewright_graph.frontends.zoo.zoo_options import ZooOptions
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.passes.builtin import BUILTIN_PASSES
from tilewright_graph.passes.graph_pass import apply_passes
from tilewright_graph.verification.own_rows import with_own_rows
from tilewright_onnx.model.writer import write_model
from tilewright_onnx.reader import read_model
from tilewright_tensor.operators.operators import builtin_operators

LOG = Path(__file__).parent / "data" / "autotvm-v0.1-resnet18-cuda.jsonl"
"""TVM AutoTVM log of the public forum, v0.1: the tuned convolutions of a ResNet-18."""


PROJECTION = 64 * 64
"""Weights of the shortcut that AutoTVM's ResNet-18 projects and He's does not."""

BERT = 109_482_240 - 590_592 - (30_522 + 512 + 2 + 2) * 768
"""Less the pooler, the three tables of embeddings, and their normalisation."""

PUBLISHED = {
    # as torchvision's weights say: `num_params`, and `_ops` in 1e9
    "densenet-121": (7_978_856, 2.834e9),
    "densenet-201": (20_013_928, 4.291e9),
    "mobilenet_v2": (3_504_872, 0.301e9),
    "resnet-18": (11_689_512 + PROJECTION + 2 * 64, 1.814e9 + PROJECTION * 56 * 56),
    "resnet-34": (21_797_672, 3.664e9),
    "resnet-50": (25_557_032, 4.089e9),
    "resnet-101": (44_549_160, 7.801e9),
    "resnet-152": (60_192_808, 11.514e9),
    "resnet3d-18": (33_371_472, 40.697e9),
    "squeezenet_v1.1": (1_235_496, 0.349e9),
    "vgg-16": (138_357_544, 15.47e9),
    "vgg-19": (143_667_240, 19.632e9),
    "vgg-19_bn": (143_678_248, 19.632e9),
    # the same, less the auxiliary classifier: 768x128x1x1 and 128x768x5x5 with norms, 768x1000
    "inception_v3": (27_161_264 - 98_560 - 2_459_136 - 769_000, 5.713e9),
    # Howard et al., table 8: 569 million multiply-adds; Keras: trainable parameters
    "mobilenet": (4_231_976, 0.569e9),
    # Devlin et al.: BERT-base, exactly as of its checkpoint; Jiao et al., "TinyBERT": 22.5e9
    # operations of 128 tokens, two to a multiply-add
    "bert-base": (BERT, 22.5e9 / 2),
    # 784, 128, 64, 10 of TVM's relay.testing.mlp, by hand
    "mlp": (784 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10, 784 * 128 + 128 * 64 + 64 * 10),
}
"""Parameters, and multiply-adds, of the size that each was published for."""


@pytest.fixture
def zoo(host):
    def read(name: str = "zoo:resnet-18", shapes=None, seed=None, **options):
        return ZooFrontend(ZooOptions(**options), host).read(name, shapes or {}, seed)

    return read


@pytest.fixture
def undrawn(monkeypatch):
    """Weights that take neither time nor memory."""
    constant = lambda self, shape, deviation: np.broadcast_to(np.float32(deviation), shape)  # noqa: E731
    monkeypatch.setattr(Layers, "normal", constant)


def parameters(network):
    """What is learned: no running statistics, and no numbers that the definition gives."""
    given = {i for n in network.nodes if n.operator == "batch_norm" for i in n.inputs[3:]}
    given |= {name for name in network.constants if name.startswith(("anchors", "scale"))}
    return sum(array.size for name, array in network.constants.items() if name not in given)


def multiply_adds(network):
    total = 0
    for node in network.nodes:
        shapes = [network.specs[name].shape for name in node.inputs]
        if node.operator.startswith("conv"):
            total += prod(network.specs[node.output].shape) * prod(shapes[1][1:])
        if node.operator in ("dense", "matmul"):
            total += prod(network.specs[node.output].shape) * shapes[0][-1]
    return total


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_and_multiply_adds_are_the_published_ones(name, zoo, undrawn):
    network = zoo(f"zoo:{name}")
    weights, products = PUBLISHED[name]
    assert parameters(network) == weights
    assert multiply_adds(network) == pytest.approx(
        products, rel=0.01 if name == "bert-base" else 2e-3
    )


def test_ssd_is_the_stages_of_resnet50_and_heads_on_six_scales_of_6132_boxes(zoo, undrawn):
    """GluonCV publishes neither count; its scales, boxes and layers are as in its documentation."""
    network = zoo("zoo:ssd-resnet50-512")
    trunk = PUBLISHED["resnet-50"][0] - 2048 * 1000 - 1000
    maps, boxes = (1024, 2048, 512, 512, 256, 256), (4, 6, 6, 6, 4, 4)
    more = sum(d * c + 9 * c * c + 4 * c for d, c in pairwise(maps[1:]))
    heads = sum((9 * c + 1) * count * (21 + 4) for c, count in zip(maps, boxes, strict=True))
    assert parameters(network) == trunk + more + heads
    shapes = [network.specs[name].shape for name in network.outputs]
    assert shapes == [(1, 6132, 4), (1, 6132, 21), (20 * 100, 3)]


def test_a_box_of_ssd_without_offset_is_its_anchor(zoo, oracle, undrawn, monkeypatch):
    monkeypatch.setattr(
        Layers, "normal", lambda self, shape, _: np.broadcast_to(np.float32(0), shape)
    )
    network = zoo("zoo:ssd-resnet50-512", size=64, batch=2)
    boxes, *_ = oracle.run(network, {"data": np.ones((2, 3, 64, 64), np.float32)}, ()).values()
    assert (boxes[0] == boxes[1]).all()

    def corner(x, y, width, height):
        return [x - width / 2, y - height / 2, x + width / 2, y + height / 2]

    edge, between, wide = 6.4, 64 * (0.1 * 0.2) ** 0.5, 6.4 * 2**0.5
    expected = [
        corner(8, 8, edge, edge),  # the first place of four by four
        corner(8, 8, between, between),
        corner(8, 8, wide, wide / 2),
        corner(8, 8, wide / 2, wide),
        corner(24, 8, edge, edge),  # the next one in its row
    ]
    np.testing.assert_allclose(boxes[0][:5], expected, rtol=1e-5)
    whole = corner(32, 32, 64 * 0.88 / 2**0.5, 64 * 0.88 * 2**0.5)
    np.testing.assert_allclose(boxes[0][-1], whole, rtol=1e-5)


def test_ssd_keeps_what_onnx_runtime_keeps_of_its_boxes_and_scores(zoo, oracle):
    network = zoo("zoo:ssd-resnet50-512", size=64)
    inputs = random_inputs(network, 0)
    theirs = oracle.run(write_model(network).SerializeToString(), inputs, network.observed)
    kept = network.outputs[-1]
    expected = with_own_rows(network, inputs, theirs, theirs, builtin_operators())
    np.testing.assert_array_equal(theirs[kept], expected[kept])
    assert 0 < len(theirs[kept]) < network.specs[kept].shape[0]


SMALL = ("mlp", "mobilenet_v2", "squeezenet_v1.1", "ssd-resnet50-512")


@pytest.mark.parametrize(
    "name", [name if name in SMALL else pytest.param(name, marks=pytest.mark.full) for name in ZOO]
)
def test_it_compiles_and_agrees_with_onnx_runtime(name, zoo, compiled_on_x86, verified_on_x86):
    network = zoo(f"zoo:{name}", size=max(ZOO[name].least, 33), sequence=7)
    compiled = compiled_on_x86(network)
    verdict = verified_on_x86(compiled, network, 1e-4)
    compiled.close()
    assert verdict.ok, verdict.report


@pytest.mark.parametrize("name", ["mobilenet", "resnet3d-18", "ssd-resnet50-512"])
def test_a_batch_and_the_order_of_an_images_axes_are_the_inputs(name, zoo, undrawn):
    first, last = (
        zoo(f"zoo:{name}", batch=3, size=32, layout=layout) for layout in ("NCHW", "NHWC")
    )
    frames = (16,) if "3d" in name else ()
    assert first.specs["data"].shape == (3, 3, *frames, 32, 32)
    assert last.specs["data"].shape == (3, *frames, 32, 32, 3)
    own = [output for output in first.outputs if "suppression" not in output]
    assert {first.specs[output].shape[0] for output in own} == {3}
    assert [first.specs[output] for output in first.outputs] == [
        last.specs[output] for output in last.outputs
    ]


def test_an_image_that_is_too_small_is_refused(zoo):
    with pytest.raises(UsageError, match=r"inception_v3: it sees no image of 74\n.*75 or more"):
        zoo("zoo:inception_v3", size=74)


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
