"""Diamonds of element-wise nodes that are a function with an operator become that operator."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tilewright.vocabulary.target import Target
from tilewright_graph.extraction.extraction import extract
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.evaluate import evaluate
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.passes.builtin import BUILTIN_PASSES
from tilewright_graph.passes.graph_pass import apply_passes

ROOT_HALF = math.sqrt(0.5)
SLOPE = math.sqrt(2 / math.pi)


def number(value: float, dtype: str = "float32") -> np.ndarray:
    return np.full((1, 1, 1, 1), value, dtype)


def plus_erf(b, x):
    return b.add(b.erf(b.divide(x, number(1.4142135381698608))), number(1))


def plus_tanh(b, x, cube):
    inner = b.add(x, b.multiply(cube, number(0.044715)))
    return b.add(number(1), b.tanh(b.multiply(number(0.7978845608), inner)))


WAYS = {
    "silu": [
        lambda b, x: b.multiply(x, b.sigmoid(x)),
        lambda b, x: b.multiply(b.sigmoid(x), x),
        lambda b, x: b.divide(x, b.add(b.exp(b.neg(x)), number(1))),
        lambda b, x: b.multiply(
            b.multiply(x, number(0.5)), b.add(b.tanh(b.multiply(x, number(0.5))), number(1))
        ),
    ],
    "hard_swish": [
        lambda b, x: b.multiply(x, b.hard_sigmoid(x, alpha=1 / 6, beta=0.5)),
        lambda b, x: b.multiply(x, b.hard_sigmoid(x, alpha=0.16666667, beta=0.5)),
        lambda b, x: b.divide(
            b.multiply(x, b.clip(b.add(x, number(3)), min=0, max=6)), number(6)
        ),
        lambda b, x: b.multiply(
            x, b.divide(b.clip(b.add(x, number(3)), min=0, max=6), number(6))
        ),
        lambda b, x: b.multiply(
            b.multiply(x, number(1 / 6)),
            b.minimum(b.relu(b.add(x, number(3))), number(6)),
        ),
    ],
    "gelu": [
        lambda b, x: b.multiply(b.multiply(x, plus_erf(b, x)), number(0.5)),
        lambda b, x: b.multiply(b.multiply(x, number(0.5)), plus_erf(b, x)),
        lambda b, x: b.multiply(
            x, b.multiply(number(0.5), b.add(b.erf(b.multiply(x, number(ROOT_HALF))), number(1)))
        ),
    ],
    "gelu_tanh": [
        lambda b, x: b.multiply(
            b.multiply(x, number(0.5)), plus_tanh(b, x, b.multiply(x, b.multiply(x, x)))
        ),
        lambda b, x: b.multiply(
            number(0.5), b.multiply(x, plus_tanh(b, x, b.power(x, number(3))))
        ),
        lambda b, x: b.multiply(
            x,
            b.sigmoid(
                b.multiply(
                    x,
                    b.add(
                        b.multiply(b.multiply(x, x), number(2 * SLOPE * 0.044715)),
                        number(2 * SLOPE),
                    ),
                )
            ),
        ),
    ],
    "mish": [
        lambda b, x: b.multiply(x, b.tanh(b.softplus(x))),
        lambda b, x: b.multiply(x, b.tanh(b.log(b.add(b.exp(x), number(1))))),
    ],
}  # fmt: skip


def applied(network, operators):
    return apply_passes(network, BUILTIN_PASSES, operators)


def kinds(network) -> list[str]:
    return [node.operator for node in network.nodes]


def start() -> tuple[NetworkBuilder, str]:
    b = NetworkBuilder("net")
    return b, b.input("x", (1, 4, 3, 5))


def conv(b: NetworkBuilder, x: str) -> str:
    weights = np.random.default_rng(3).uniform(-1, 1, (4, 4, 1, 1)).astype("f4")
    bias = np.random.default_rng(4).uniform(-3, 3, (1, 4, 1, 1)).astype("f4")
    return b.add(b.conv2d(x, weights), bias)


@pytest.mark.parametrize(
    ("name", "way"), [(name, way) for name, ways in WAYS.items() for way in range(len(ways))]
)
def test_whatever_way_it_is_written_it_joins_the_convolution_before_it(name, way, operators):
    b, x = start()
    network = b.network([conv(b, WAYS[name][way](b, conv(b, x)))])
    passed = applied(network, operators)
    assert kinds(passed) == ["conv2d", "add", name, "conv2d", "add"]
    inputs = random_inputs(network, 1)
    (before,) = evaluate(network, inputs, operators).values()
    (after,) = evaluate(passed, inputs, operators).values()
    np.testing.assert_allclose(after, before, rtol=1e-6, atol=1e-6)
    kernels = extract(passed, Target("x86"), operators).kernels
    steps = [[op.operator for op in kernel.task.workload.epilogue] for kernel in kernels]
    assert steps == [["add", name], ["add"]]


ALMOST = {
    "another tensor": lambda b, x: b.multiply(x, b.sigmoid(conv(b, x))),
    "a number for each channel": lambda b, x: b.multiply(
        x, b.sigmoid(b.multiply(x, np.linspace(1, 2, 4, dtype="f4").reshape(1, 4, 1, 1)))
    ),
    "another slope": lambda b, x: b.multiply(x, b.sigmoid(b.multiply(x, number(1.01)))),
    "other limits": lambda b, x: b.multiply(x, b.clip(b.add(x, number(3)), min=0, max=5.99)),
    "another tail": lambda b, x: b.multiply(x, b.sigmoid(b.clip(x, min=-6, max=None))),
    "nothing at zero": lambda b, x: b.divide(b.multiply(x, x), x),
    "limits far away": lambda b, x: b.multiply(x, b.sigmoid(b.clip(x, min=None, max=12))),
}  # fmt: skip


@pytest.mark.parametrize("kind", ALMOST)
def test_what_is_almost_such_a_function_stays(kind, operators):
    b, x = start()
    network = b.network([ALMOST[kind](b, x)])
    assert kinds(applied(network, operators)) == kinds(network)


def test_double_precision_stays_as_it_is_written(operators):
    b = NetworkBuilder("net")
    x = b.input("x", (1, 4), "float64")
    assert kinds(applied(b.network([b.multiply(x, b.sigmoid(x))]), operators)) == [
        "sigmoid",
        "multiply",
    ]


@pytest.mark.parametrize("how", ["output", "observed", "read"])
def test_a_part_that_somebody_else_reads_stays(how, operators):
    b, x = start()
    gate = b.sigmoid(x)
    made = b.multiply(x, gate)
    others = {"output": lambda: [gate], "observed": list, "read": lambda: [b.tanh(gate)]}[how]()
    network = b.network([made, *others], [gate] if how == "observed" else [])
    assert kinds(applied(network, operators)) == kinds(network)


def test_the_operand_may_have_other_readers(operators):
    b, x = start()
    y = conv(b, x)
    network = b.network([b.add(y, b.multiply(y, b.sigmoid(y)))])
    assert kinds(applied(network, operators)) == ["conv2d", "add", "silu", "add"]


def test_behind_products_of_three_axes_it_is_found_too(operators):
    b = NetworkBuilder("net")
    x = b.input("x", (1, 6, 4))
    half, one = np.float32([[[0.5]]]), np.float32([[[1]]])
    y = b.add(b.matmul(x, np.ones((4, 8), "f4")), np.ones((1, 1, 8), "f4"))
    gate = b.add(b.erf(b.divide(y, np.float32([[[1.41421356]]]))), one)
    y = b.multiply(b.multiply(y, gate), half)
    network = b.network([b.matmul(y, np.ones((8, 3), "f4"))])
    passed = applied(network, operators)
    steps = [
        (one.task.workload.operator, [op.operator for op in one.task.workload.epilogue])
        for one in extract(passed, Target("x86"), operators).kernels
    ]
    assert ("gelu" in steps[0][1]) and len(steps) == 2, steps
