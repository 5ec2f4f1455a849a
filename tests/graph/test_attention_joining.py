"""Two products with a softmax between them are attention, however networks spell it."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.strategies.strategy import Strategy
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.evaluate import evaluate
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.passes.builtin import BUILTIN_PASSES
from tilewright_graph.passes.canonical.join_attention import join_attention
from tilewright_graph.passes.graph_pass import apply_passes, passes_for

HEADS, QUERIES, KEYS, TERMS = 3, 9, 11, 5


def scalar(value):
    return np.full((1, 1, 1), value, np.float32)


def operands(b):
    """(queries, keys as the product has them, values)."""
    return (
        b.input("queries", (HEADS, QUERIES, TERMS)),
        b.input("keys", (HEADS, TERMS, KEYS)),
        b.input("values", (HEADS, KEYS, 4)),
    )


def plain(b, mask):
    q, k, v = operands(b)
    return b.matmul(b.softmax(b.matmul(q, k)), v), 1.0


def scaled_and_masked(b, mask):
    q, k, v = operands(b)
    scores = b.add(b.multiply(b.matmul(q, k), scalar(0.25)), mask)
    return b.matmul(b.softmax(scores), v), 0.25


def mask_first(b, mask):
    q, k, v = operands(b)
    scores = b.add(mask, b.divide(b.matmul(q, k), scalar(8.0)))
    return b.matmul(b.softmax(scores, axis=2), v), 0.125


def scaled_operands(b, mask):
    """As PyTorch exports its scaled dot products."""
    q, k, v = operands(b)
    k = b.transpose(b.transpose(k, axes=[0, 2, 1]), axes=[0, 2, 1])
    scores = b.matmul(b.multiply(q, scalar(0.5)), b.multiply(scalar(0.5), k))
    return b.matmul(b.softmax(b.add(scores, mask)), v), 0.25


@pytest.mark.parametrize("spelled", [plain, scaled_and_masked, mask_first, scaled_operands])
@pytest.mark.parametrize("mask", [(1, QUERIES, KEYS), (HEADS, 1, KEYS), (1, 1, 1)])
def test_it_is_one_operator_with_the_same_answer(spelled, mask, operators):
    b = NetworkBuilder("net")
    result, scale = spelled(b, b.input("mask", mask))
    network = b.network([result])
    passed = apply_passes(network, BUILTIN_PASSES, operators)
    (joined,) = [node for node in passed.nodes if node.operator == "attention"]
    assert {node.operator for node in passed.nodes} <= {"attention", "transpose"}
    assert joined.attributes["scale"] == pytest.approx(scale)
    assert passed.outputs == network.outputs
    inputs = random_inputs(network, 1)
    (before,), (after,) = (evaluate(each, inputs, operators).values() for each in (network, passed))
    np.testing.assert_allclose(after, before, rtol=1e-6)


@pytest.mark.parametrize("bias", [(HEADS, QUERIES, KEYS), (1, 1, KEYS)])
def test_constants_added_to_views_of_the_scores_are_one_mask(bias, operators):
    """As a transformer of shifted windows adds a bias to its heads and a mask to its windows."""
    rng, b = np.random.default_rng(0), NetworkBuilder("net")
    q, k, v = (b.input(name, (2, HEADS, *shape)) for name, shape in (
        ("q", (QUERIES, TERMS)), ("k", (TERMS, KEYS)), ("v", (KEYS, 4)),
    ))  # fmt: skip
    biased = b.add(rng.standard_normal((1, *bias), np.float32), b.matmul(q, k))
    windows = b.reshape(biased, shape=(1, 2, HEADS, QUERIES, KEYS))
    mask = rng.standard_normal((1, 2, 1, QUERIES, KEYS), np.float32)
    scores = b.reshape(b.add(windows, mask), shape=(2, HEADS, QUERIES, KEYS))
    network = b.network([b.matmul(b.softmax(scores), v)])
    passed = apply_passes(network, BUILTIN_PASSES, operators)
    assert [node.operator for node in passed.nodes] == ["transpose", "attention"]
    shared = 1 if bias[0] == 1 else HEADS
    assert passed.specs[passed.nodes[1].inputs[3]].shape == (2, shared, QUERIES, KEYS)
    inputs = random_inputs(network, 1)
    (before,), (after,) = (evaluate(each, inputs, operators).values() for each in (network, passed))
    np.testing.assert_allclose(after, before, rtol=1e-5)


def test_transposed_keys_are_moved_once(operators):
    """Heads are cut out of rows by one transpose, the last axes included."""
    b = NetworkBuilder("net")
    q, _, v = operands(b)
    k = b.transpose(b.input("rows", (KEYS, HEADS, TERMS)), axes=[1, 2, 0])
    passed = apply_passes(
        b.network([b.matmul(b.softmax(b.matmul(q, k)), v)]), BUILTIN_PASSES, operators
    )
    assert [(n.operator, n.attributes.get("axes")) for n in passed.nodes] == [
        ("transpose", (1, 0, 2)),
        ("attention", None),
    ]


def read_twice(b, q, k, v):
    shares = b.softmax(b.matmul(q, k))
    return [b.matmul(shares, v), b.relu(shares)]


def scores_as_result(b, q, k, v):
    scores = b.matmul(q, k)
    return [b.matmul(b.softmax(scores), v), scores]


def another_axis(b, q, k, v):
    return [b.matmul(b.softmax(b.matmul(q, k), axis=1), v)]


def factors_that_differ(b, q, k, v):
    scores = b.multiply(b.matmul(q, k), np.ones((1, 1, KEYS), np.float32))
    return [b.matmul(b.softmax(scores), v)]


def mask_of_more_heads(b, q, k, v):
    scores = b.add(b.matmul(b.slice(q, begin=[0, 0, 0], end=[1, QUERIES, TERMS]), b.slice(
        k, begin=[0, 0, 0], end=[1, TERMS, KEYS])), b.input("mask", (HEADS, 1, 1)))  # fmt: skip
    return [b.matmul(b.softmax(scores), v)]


@pytest.mark.parametrize(
    "spelled",
    [read_twice, scores_as_result, another_axis, factors_that_differ, mask_of_more_heads],
)
def test_what_is_anything_else_stays(spelled, operators):
    b = NetworkBuilder("net")
    network = b.network(spelled(b, *operands(b)))
    passed = apply_passes(network, BUILTIN_PASSES, operators)
    assert "attention" not in {node.operator for node in passed.nodes}


@pytest.mark.parametrize(
    ("queries", "keys", "dtype"), [(7, 11, "float32"), (9, 8193, "float32"), (9, 11, "float64")]
)
def test_few_queries_many_keys_and_wide_floats_stay(queries, keys, dtype, operators):
    b = NetworkBuilder("net")
    q, k = b.input("q", (2, queries, 3), dtype), b.input("k", (2, 3, keys), dtype)
    network = b.network([b.matmul(b.softmax(b.matmul(q, k)), b.input("v", (2, keys, 3), dtype))])
    passed = apply_passes(network, BUILTIN_PASSES, operators)
    assert [node.operator for node in passed.nodes] == ["matmul", "softmax", "matmul"]


def test_scores_of_one_constant_stay(operators):
    b = NetworkBuilder("net")
    scores = b.constant(np.ones((HEADS, QUERIES, KEYS), np.float32))
    values = b.input("values", (HEADS, KEYS, 4))
    network = b.network([b.matmul(b.softmax(b.add(scores, scores)), values)])
    passed = join_attention(network, operators)
    assert [node.operator for node in passed.nodes] == ["add", "softmax", "matmul"]


def test_it_is_joined_where_a_strategy_names_it():
    strategies = [
        Strategy("any", 1, ("here", "there"), (), lambda host: host),
        Strategy("own", 1, ("here",), ("attention",), lambda host: host),
    ]
    here, there = (passes_for(kind, BUILTIN_PASSES, strategies) for kind in ("here", "there"))
    assert here == list(BUILTIN_PASSES)
    assert [entry.name for entry in BUILTIN_PASSES if entry not in there] == ["join_attention"]
