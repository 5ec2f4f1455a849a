"""Nodes of a user's own domain: by default the operator of their name, else what a plugin's reader makes of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import tilewright
from tilewright import hookimpl
from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright_graph.compiled.compiled_network import CompiledNetwork
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.evaluate import evaluate
from tilewright_graph.network.network import Network
from tilewright_graph.stages.verify_stage import VerifyOptions, VerifyStage
from tilewright_onnx.nodes.own_domains import operator_name
from tilewright_onnx.onnx_reader import OnnxReader
from tilewright_onnx.reader import OnnxFrontend
from tilewright_tensor.expressions.expr import absolute
from tilewright_tensor.ir.dag import compute, reduce_axis, reduce_sum
from tilewright_tensor.operators.operator import Operand, operator
from tilewright_tensor.operators.operators import Operators

X = np.random.default_rng(3).uniform(-1, 1, (5, 7)).astype(np.float32)
POINTS = np.random.default_rng(4).uniform(-1, 1, (3, 7)).astype(np.float32)


@operator(Operand("points", role="constant"))
def point_distances(data, points, *, squared=False, scale=1.0):
    def distance(i, j):
        k = reduce_axis(data.shape[1], "k")
        difference = data[i, k] - points[j, k]
        apart = difference * difference if squared else absolute(difference)
        return reduce_sum(apart * scale, k)

    return compute("point_distances", (data.shape[0], points.shape[0]), distance)


def _read_halves(site):
    if site.attribute("mode", "plain") != "plain":
        raise site.error(f"halves by {site.attribute('mode')!r}")
    site.finish("multiply", site.tensor(0), site.scalar(0.5, site.tensor(0)))
    site.know(site.outputs[1], np.float32([2.0]))


class Mine:
    @hookimpl
    def tilewright_operators(self):
        return [point_distances]

    @hookimpl
    def tilewright_onnx_readers(self):
        return [OnnxReader("mine.Halves", lambda: _read_halves)]


@pytest.fixture(scope="module")
def mine() -> PluginHost:
    return PluginHost.load(extra=[Mine()])


def model(*nodes, outputs=("y",), domain="mine"):
    graph = helper.make_graph(
        list(nodes),
        "own",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, X.shape)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(POINTS, "points")],
    )
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def node(kind, inputs, outputs=("y",), domain="mine", **attributes):
    return helper.make_node(kind, inputs, list(outputs), "own", domain=domain, **attributes)


def read(host, proto):
    return OnnxFrontend(None, host).read(proto, {}, None)


@pytest.mark.parametrize("kind", ["PointDistances", "point_distances"])
def test_a_node_becomes_the_operator_of_its_name_with_its_attributes_by_name(mine, kind):
    proto = model(
        node("Relu", ["x"], ["r"], domain=""),
        node(kind, ["r", "points"], squared=1, scale=0.5),
    )
    answer = evaluate(read(mine, proto), {"x": X}, Operators.of(mine))["y"]
    expected = 0.5 * ((np.maximum(X, 0)[:, None] - POINTS[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(answer, expected, rtol=1e-5)


def test_an_attribute_that_the_operator_does_not_have_is_told_with_the_node(mine):
    with pytest.raises(UsageError, match="node 'own': point_distances has no attribute 'squarred'"):
        read(mine, model(node("PointDistances", ["x", "points"], squarred=1)))


def test_a_plugins_reader_reads_what_needs_more(mine):
    proto = model(
        node("Halves", ["x"], ["h", "factor"]),
        node("Mul", ["h", "factor"], domain=""),
        outputs=("y",),
    )
    answer = evaluate(read(mine, proto), {"x": X}, Operators.of(mine))["y"]
    np.testing.assert_allclose(answer, X, rtol=1e-6)
    with pytest.raises(UsageError, match="node 'own': halves by 'odd'"):
        read(mine, model(node("Halves", ["x"], ["y", "factor"], mode="odd")))


def test_an_output_that_is_read_and_not_made_is_told(mine):
    with pytest.raises(UsageError, match=r"output 1 \('z'\) of PointDistances is not supported"):
        proto = model(node("PointDistances", ["x", "points"], ["y", "z"]), outputs=("y", "z"))
        read(mine, proto)


def test_what_nobody_reads_is_told_with_both_ways_to_read_it(mine):
    with pytest.raises(UsageError) as caught:
        read(mine, model(node("GridCells", ["x"])))
    said = str(caught.value)
    assert "no reader for the ONNX operator 'mine.GridCells'" in said
    assert "an operator named 'grid_cells' (tilewright_operators)" in said
    assert "a reader 'mine.GridCells' (tilewright_onnx_readers); --plugin FILE loads" in said


def test_a_strangers_relu_is_not_taken_for_the_built_in_one(mine):
    with pytest.raises(UsageError, match=r"'mine.Relu'"):
        read(mine, model(node("Relu", ["x"])))


def test_nodes_of_onnx_runtimes_own_domain_are_no_users(mine):
    with pytest.raises(UsageError, match="ONNX Runtime made it"):
        proto = model(
            node("PointDistances", ["x", "points"], domain="com.microsoft"), domain="com.microsoft"
        )
        read(mine, proto)


def test_the_domain_names_the_owner_where_several_have_the_operator():
    class Other(Mine):
        pass

    host = PluginHost.load(extra=[Mine(), Other()])
    proto = model(node("PointDistances", ["x", "points"], domain="Other"), domain="Other")
    (read_node,) = read(host, proto).nodes
    assert read_node.operator.endswith("Other/point_distances")
    with pytest.raises(UsageError, match="two plugins offer the operator 'point_distances'"):
        read(host, model(node("PointDistances", ["x", "points"])))


@pytest.mark.parametrize(
    ("onnx", "ours"),
    [
        ("Mish", "mish"),
        ("RoiAlign", "roi_align"),
        ("LSTMCell", "lstm_cell"),
        ("Conv2dX", "conv2d_x"),
    ],
)
def test_names_of_onnx_are_written_as_ours(onnx, ours):
    assert operator_name(onnx) == ours


def test_a_network_with_an_operator_of_ones_own_is_verified_by_the_oracle_reference(
    x86, mine, caplog
):

    proto = model(node("PointDistances", ["x", "points"]))
    network = read(mine, proto)
    compiled = tilewright.compile(network, target="x86:threads=1", host=mine)
    given = {CompiledNetwork: compiled, Network: network}
    context = replace(x86, host=mine)
    unnamed = VerifyStage(VerifyOptions(), context).run(given)
    assert unnamed.report["verify"]["passed"] is None
    assert "answers not checked" in caplog.text
    assert "--set verify.oracle=reference" in caplog.text
    named = VerifyStage(VerifyOptions(oracle=Choice("reference")), context).run(given)
    assert named.ok
    assert named.report["verify"]["oracle"] == "reference"
    unnamed = VerifyStage(VerifyOptions(), context).run(given)
    assert unnamed.report["verify"]["passed"] is None


def test_the_oracle_reference_finds_a_wrong_answer(x86, mine):

    right = read(mine, model(node("PointDistances", ["x", "points"])))
    wrong = read(mine, model(node("PointDistances", ["x", "points"], scale=1.001)))
    compiled = tilewright.compile(wrong, target="x86:threads=1", host=mine)
    stage = VerifyStage(VerifyOptions(oracle=Choice("reference")), replace(x86, host=mine))
    assert not stage.run({CompiledNetwork: compiled, Network: right}).ok


def test_what_onnx_runtime_refuses_is_told_with_other_oracles(mine):
    oracle = mine.make("oracle", "onnxruntime", {}, mine)
    with pytest.raises(UsageError, match=r"refuses the model: (?s:.*)another oracle, such as ref"):
        oracle.run(b"no model", {}, ())


def test_the_oracle_reference_is_no_peer(mine):
    network = NetworkBuilder("net")
    y = network.relu(network.input("x", (2,)))
    oracle = mine.make("oracle", "reference", {}, mine)
    with pytest.raises(UsageError, match="is no peer"):
        oracle.time(network.network([y]), {}, 1)


@pytest.mark.parametrize(
    ("kind", "inputs", "attributes"),
    [
        ("Gelu", ["x"], {}),
        ("BiasGelu", ["x", "bias"], {}),
        ("QuickGelu", ["x"], {}),
        ("QuickGelu", ["x"], {"alpha": 0.5}),
    ],
)
def test_simple_operators_of_onnx_runtime_are_read(oracle, mine, kind, inputs, attributes):
    made = node(kind, inputs, domain="com.microsoft", **attributes)
    proto = model(made, domain="com.microsoft")
    proto.graph.initializer.append(numpy_helper.from_array(POINTS[0], "bias"))
    network = read(mine, proto)
    expected = oracle.run(network.source, {"x": X}, ())["y"]
    answer = evaluate(network, {"x": X}, Operators.of(mine))["y"]
    np.testing.assert_allclose(answer, expected, rtol=1e-5, atol=1e-6)
