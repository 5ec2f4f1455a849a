"""Compute DAGs: building, printing, counting, reference evaluation against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright_tensor.evaluation import evaluate as evaluate_module
from tilewright_tensor.evaluation.evaluate import evaluate
from tilewright_tensor.expressions.expr import (
    Const,
    IndexValue,
    as_value,
    cast,
    erf,
    exp,
    ge,
    maximum,
    select,
)
from tilewright_tensor.expressions.tensor import Combiner
from tilewright_tensor.ir.dag import (
    Dag,
    compute,
    placeholder,
    reduce,
    reduce_axis,
    reduce_max,
    reduce_min,
    reduce_prod,
    reduce_sum,
)

RNG = np.random.default_rng(0)


def test_prints_as_a_formula():
    pad, w = placeholder("pad", (1, 3, 9, 9)), placeholder("w", (4, 3, 3, 3))
    rc, ry, rx = reduce_axis(3, "rc"), reduce_axis(3, "ry"), reduce_axis(3, "rx")
    conv = compute(
        "conv2d",
        (1, 4, 7, 7),
        lambda n, f, y, x: reduce_sum(pad[n, rc, y + ry, x + rx] * w[f, rc, ry, rx], rc, ry, rx),
    )
    dag = Dag([conv])
    assert (
        str(dag).splitlines()[-1]
        == "conv2d(n, f, y, x) += (pad[n, rc, y + ry, x + rx]*w[f, rc, ry, rx])"
    )
    assert dag.operation_count == 2 * 4 * 49 * 27


def test_true_among_numbers_is_one():
    assert as_value(True, "int64") == as_value(1, "int64")
    assert as_value(True, "float32").value is not True
    assert as_value(True, "bool").value is True


def test_producers_come_first_and_inputs_keep_their_order():
    a, b, unused = placeholder("a", (4,)), placeholder("b", (4,)), placeholder("unused", (1,))
    c = compute("c", (4,), lambda i: b[i] + 1)
    d = compute("d", (4,), lambda i: c[i] * a[i] + c[3 - i])
    dag = Dag([d], inputs=[a, unused, b])
    assert [t.name for t in dag.tensors] == ["a", "unused", "b", "c", "d"]
    assert dag.readers(c) == (d,)
    with pytest.raises(ValueError, match="placeholders a are read but not among the inputs"):
        Dag([d], inputs=[b])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda a: a[0], "a has 2 dimensions, got 1 index$"),
        (lambda a: compute("c", (2,), lambda i, j: a[i, j]), "1 dimension but 2 axes i, j"),
        (lambda a: compute("c", (2,), lambda i: a[i, reduce_axis(3, "k")]), "k is no axis of it"),
        (
            lambda a: compute("c", (2,), lambda i: reduce_sum(a[i, i], reduce_axis(3, "i"))),
            "axis names must differ",
        ),
        (lambda a: compute("c", (2,), lambda i: a[i, 0] + Const(1, "int32")), "cast one side"),
        (lambda a: Dag([compute("a", (2,), lambda i: a[i, 0])]), "a occurs twice"),
    ],
)
def test_a_mistake_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make(placeholder("a", (2, 3)))


def test_matmul_evaluates_as_numpy_does():
    a, b, k = placeholder("a", (7, 13)), placeholder("b", (13, 5)), reduce_axis(13, "k")
    c = compute("c", (7, 5), lambda i, j: reduce_sum(a[i, k] * b[k, j], k))
    x, y = RNG.normal(size=(7, 13)), RNG.normal(size=(13, 5))
    np.testing.assert_allclose(evaluate(Dag([c]), [x, y])[0], x @ y)


def test_values_evaluate_as_numpy_does():
    a = placeholder("a", (3, 5))
    b = compute("b", (3, 5), lambda i, j: maximum(-a[i, j], 0.5) / exp(a[i, j]) - erf(a[i, j]))
    c = compute(
        "c",
        (5, 3),
        lambda *axes: select(ge(axes[0] - 1, 0), b[axes[1], axes[0] - 1], 9.0),
        axes=("j", "i"),
    )
    d = compute("d", (2, 5), lambda i, j: cast(IndexValue(i * 5 + j), "float32"))
    x = RNG.normal(size=(3, 5))
    e = np.maximum(-x, 0.5) / np.exp(x) - np.vectorize(__import__("math").erf)(x)
    got_c, got_d = evaluate(Dag([c, d]), [x])
    np.testing.assert_allclose(got_c[1:], e.T[:-1])
    assert (got_c[0] == 9).all()
    np.testing.assert_array_equal(got_d, np.arange(10).reshape(2, 5))


@pytest.mark.parametrize(
    ("reduction", "expected"),
    [(reduce_max, np.max), (reduce_min, np.min), (reduce_prod, np.prod), (reduce_sum, np.sum)],
)
def test_reductions_evaluate_as_numpy_does(reduction, expected):
    a, k, m = placeholder("a", (4, 3, 5)), reduce_axis(3, "k"), reduce_axis(5, "m")
    c = compute("c", (4,), lambda i: reduction(a[i, k, m], k, m))
    x = RNG.normal(size=(4, 3, 5))
    np.testing.assert_allclose(evaluate(Dag([c]), [x])[0], expected(x, axis=(1, 2)))


def test_a_reduction_too_long_for_one_piece_is_cut_into_few(monkeypatch):
    a, k, m = placeholder("a", (7, 3, 11)), reduce_axis(3, "k"), reduce_axis(11, "m")
    c = compute("c", (7,), lambda i: reduce_sum(a[i, k, m], k, m))
    x, rounds = RNG.normal(size=(7, 3, 11)), []
    value_at = evaluate_module.value_at
    monkeypatch.setattr(
        evaluate_module, "value_at", lambda *args: rounds.append(args) or value_at(*args)
    )
    for points, expected in ((7 * 33, 1), (7 * 22, 2), (7 * 10, 6), (7, 33)):
        monkeypatch.setattr(evaluate_module, "_POINTS", points)
        rounds.clear()
        np.testing.assert_allclose(evaluate(Dag([c]), [x])[0], x.sum((1, 2)))
        assert sum(args[0] is c.body for args in rounds) == expected


def test_a_combiner_of_ones_own_evaluates():
    both = Combiner("probability_sum", lambda p, q: p + q - p * q, lambda dtype: Const(0, dtype))
    a, k = placeholder("a", (2, 6)), reduce_axis(6, "k")
    c = compute("c", (2,), lambda i: reduce(both, a[i, k], k))
    x = RNG.uniform(size=(2, 6))
    np.testing.assert_allclose(evaluate(Dag([c]), [x])[0], 1 - np.prod(1 - x, axis=1))
