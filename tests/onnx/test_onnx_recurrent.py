"""Recurrent layers against ONNX Runtime: directions, states, activations, several steps."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from tilewright.errors import UsageError
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.passes.graph_pass import apply_passes
from tilewright_onnx.reader import read_model
from tilewright_tensor.operators.operators import Operators

STEPS, BATCH, WIDTH, HIDDEN = 3, 2, 5, 4
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
OUTPUTS = {"RNN": ("y", "h"), "GRU": ("y", "h"), "LSTM": ("y", "h", "c")}


@pytest.fixture
def layer(make_model):
    """A model of one layer with random weights; its states are inputs, named as in ONNX."""

    def make(kind, direction="forward", operands=("B",), outputs=None, **attributes):
        rng = np.random.default_rng(4)
        ways, gates = 2 if direction == "bidirectional" else 1, GATES[kind] * HIDDEN
        shapes = {
            "W": (ways, gates, WIDTH),
            "R": (ways, gates, HIDDEN),
            "B": (ways, 2 * gates),
            "P": (ways, 3 * HIDDEN),
        }
        weights = {
            name: rng.uniform(-1, 1, shape).astype(np.float32)
            for name, shape in shapes.items()
            if name in ("W", "R", *operands)
        }
        if "lens" in operands:
            weights["lens"] = np.array([STEPS, 1], np.int32)
        states = {name: (ways, BATCH, HIDDEN) for name in ("h0", "c0") if name in operands}
        names = [
            "x",
            "W",
            "R",
            *(n if n in operands else "" for n in ("B", "lens", "h0", "c0", "P")),
        ]
        while not names[-1]:
            names.pop()
        outputs = outputs or OUTPUTS[kind]
        node = helper.make_node(
            kind,
            names,
            outputs,
            name="layer",
            hidden_size=HIDDEN,
            direction=direction,
            **attributes,
        )
        inputs = {"x": (STEPS, BATCH, WIDTH), **states}
        return make_model([node], inputs, weights, outputs=[n for n in outputs if n], opset=14)

    return make


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("kind", GATES)
def test_a_recurrent_layer_computes_what_onnx_runtime_does(kind, direction, layer, assert_agrees):
    assert_agrees(layer(kind, direction))


@pytest.mark.parametrize(
    ("kind", "states"), [("RNN", ["h0"]), ("GRU", ["h0"]), ("LSTM", ["h0", "c0"])]
)
def test_first_states_are_taken(kind, states, layer, assert_agrees):
    assert_agrees(layer(kind, "bidirectional", operands=("B", *states)))


def test_the_reset_gate_may_come_behind_the_product(layer, assert_agrees):
    assert_agrees(layer("GRU", linear_before_reset=1))


def test_biases_and_outputs_may_be_left_out(layer, assert_agrees):
    assert_agrees(layer("LSTM", operands=(), outputs=("", "h")))


def test_activations_are_those_of_their_direction(layer, assert_agrees):
    assert_agrees(layer("RNN", "bidirectional", activations=["Relu", "Sigmoid"]))
    assert_agrees(layer("LSTM", activations=["Sigmoid", "Relu", "Tanh"]))


@pytest.mark.parametrize("kind", GATES)
def test_steps_share_their_weights(kind, layer, host):
    """Else every step would read its own copy from memory, at a third of the speed."""
    read = read_model(layer(kind), NetworkBuilder("model"), {})
    passes = host.hook_values("tilewright_graph_passes")
    network = apply_passes(read, passes, Operators.of(host))
    products = [node for node in network.nodes if node.operator == "dense"]
    weights = {node.inputs[1] for node in products}
    # One is of all steps, by the inputs' weights; those of the first step are of zeros, and folded.
    a_step = (len(products) - 1) // (STEPS - 1)
    assert len(weights) == 1 + a_step


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"clip": 1.0}, "recurrent layer with clip"),
        ({"operands": ("B", "P")}, "clip, input_forget or peepholes"),
        ({"operands": ("B", "lens")}, "sequences of several lengths"),
        ({"layout": 1}, "layout 1"),
        ({"activations": ["Sigmoid", "Softsign", "Tanh"]}, "'Softsign'; expected one of Sigmoid, "),
    ],
)
def test_what_is_not_read_of_a_recurrent_layer_is_named(options, problem, layer):
    with pytest.raises(UsageError, match=f"model: node 'layer': .*{problem}"):
        read_model(layer("LSTM", **options), NetworkBuilder("model"), {})
