"""Definitions as people write them, wrong ones too: each means what Python means, or is refused.

The second opinion is the same function, called at every place with numbers and arrays of numpy.
"""

# ruff: noqa: C416, E712, F821, FURB110, FURB171, FURB192, RUF015, SIM300
from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tilewright.errors import UsageError
from tilewright.vocabulary.workload import TensorSpec
from tilewright_tensor.evaluation.evaluate import evaluate
from tilewright_tensor.evaluation.interpret import interpret
from tilewright_tensor.expressions import expr
from tilewright_tensor.expressions.lookup import lookup
from tilewright_tensor.expressions.tensor import Tensor
from tilewright_tensor.ir.dag import Dag, compute, placeholder, reduce_axis, reduce_max, reduce_sum
from tilewright_tensor.lowering.lower import lower
from tilewright_tensor.operators.operator import operator
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.schedule.schedule import Schedule

NUMPY = SimpleNamespace(
    select=lambda condition, then, otherwise: then if condition else otherwise,
    maximum=max,
    minimum=min,
    cast=lambda x, dtype: np.asarray(x).astype(dtype)[()],
    floor=math.floor,
    exp=math.exp,
    lt=lambda x, y: x < y,
    eq=lambda x, y: x == y,
    logical_and=lambda *conditions: all(conditions),
    logical_or=lambda *conditions: any(conditions),
    logical_not=lambda condition: not condition,
    absolute=abs,
    lookup=lambda x, extent: min(max(int(x), 0), extent - 1),
)
OURS = SimpleNamespace(**vars(expr), lookup=lookup)
RNG = np.random.default_rng(5)
ARRAYS = (
    RNG.integers(-2, 3, (4, 5)).astype("float32") / 2,
    RNG.integers(-3, 4, (4, 5)).astype("int32"),
    RNG.random((4, 5)) < 0.5,
)
Element = Callable[[Any, Any, Any, Any, Any, Any], Any]


def _defined(element: Element) -> Dag:
    """A definition over a 4x5 grid of places. Raises UsageError."""

    @operator()
    def hostile(x: Tensor, n: Tensor, b: Tensor) -> Tensor:
        return compute("hostile", x.shape, lambda i, j: element(OURS, x, n, b, i, j))

    inputs = [TensorSpec(array.shape, str(array.dtype)) for array in ARRAYS]
    operators = Operators([hostile])
    return operators.compute_dag(operators.workload("hostile", inputs))


def _theirs(element: Element) -> Any:
    places = [[element(NUMPY, *ARRAYS, i, j) for j in range(5)] for i in range(4)]
    return np.array(places)


UNDERSTOOD: list[Element] = [
    lambda e, x, n, b, i, j: e.select(i == 0, x[i, j], 2.0),
    lambda e, x, n, b, i, j: e.select(0 != i, x[i, j], 2.0),
    lambda e, x, n, b, i, j: e.select(i == j, x[i, j], 2.0),
    lambda e, x, n, b, i, j: e.select(i + 1 == j, x[i, j], 2.0),
    lambda e, x, n, b, i, j: e.select(i + 1 != 2 * j, x[i, j], 2.0),
    lambda e, x, n, b, i, j: e.select(j <= i, x[i, j], -math.inf),
    lambda e, x, n, b, i, j: e.select(3 > i, x[i, j], 0.0),
    lambda e, x, n, b, i, j: e.select(x[i, j] > 0, x[i, j], 0.0),
    lambda e, x, n, b, i, j: e.select(x[i, j] == 0.5, 1.0, 0.0),
    lambda e, x, n, b, i, j: e.select(x[i, j] == x[j % 4, i], 1.0, 0.0),
    lambda e, x, n, b, i, j: e.select(x[i, j] * 2 != x[i, 0] + 1, 1.0, 0.0),
    lambda e, x, n, b, i, j: e.select(b[i, j], x[i, j], 0.0),
    lambda e, x, n, b, i, j: e.select(b[i, j] == True, x[i, j], 0.0),
    lambda e, x, n, b, i, j: e.select((i >= 1) & (j < 3), x[i - 1, j], 0.0),
    lambda e, x, n, b, i, j: e.select((i == 0) | (j == 0), 0.0, x[i - 1, j - 1]),
    lambda e, x, n, b, i, j: e.select(e.logical_not(i < 1), x[i - 1, j], 0.0),
    lambda e, x, n, b, i, j: e.select((i + j) % 2 == 1, x[(i + j - 1) // 2, j], 0.0),
    lambda e, x, n, b, i, j: e.select(i < 9, x[i, j], x[i - 4, j]),
    lambda e, x, n, b, i, j: e.select(b[i, j] & (i > 1), x[i - 2, j], x[i, j]),
    lambda e, x, n, b, i, j: e.select((i < 1) | (j < 3) | b[i, j], x[i, j], 0.0),
    lambda e, x, n, b, i, j: e.select(e.logical_and(i >= 1, j < 3, x[i, j] > 0), 1.0, 0.0),
    lambda e, x, n, b, i, j: e.select(True & (i >= 1), 1.0, 0.0),
    lambda e, x, n, b, i, j: x[i, j] > 0,
    lambda e, x, n, b, i, j: n[i, j] // 2,
    lambda e, x, n, b, i, j: n[i, j] % 3,
    lambda e, x, n, b, i, j: 7 // (n[i, j] * n[i, j] + 1),
    lambda e, x, n, b, i, j: e.floor(x[i, j] / 0.5),
    lambda e, x, n, b, i, j: x[i, j] / 3,
    lambda e, x, n, b, i, j: 1 / (x[i, j] * x[i, j] + 1),
    lambda e, x, n, b, i, j: x[i, j] ** 2,
    lambda e, x, n, b, i, j: 2.0 ** x[i, j],
    lambda e, x, n, b, i, j: abs(x[i, j]) + abs(x[i, 0]),
    lambda e, x, n, b, i, j: x[i, j] * np.float32(0.5),
    lambda e, x, n, b, i, j: np.float64(0.5) * x[i, j],
    lambda e, x, n, b, i, j: n[i, j] + np.int64(3),
    lambda e, x, n, b, i, j: e.select(b[i, j], i, True),
    lambda e, x, n, b, i, j: x[i, j] * True + n.shape[0],
    lambda e, x, n, b, i, j: x[i, j] * math.pi,
    lambda e, x, n, b, i, j: sum([x[i, j], x[i, 0], x[0, j]]),
    lambda e, x, n, b, i, j: x[i // 2, j % 2],
    lambda e, x, n, b, i, j: x[3 - i, 4 - j],
    lambda e, x, n, b, i, j: x[(e.lookup(n[i, j], 2) + i) // 2, e.lookup(n[i, j], 4) + j // 4],
    lambda e, x, n, b, i, j: e.select(e.lookup(n[i, j], 4) == j, x[i, j], 0.0),
    lambda e, x, n, b, i, j: i,
    lambda e, x, n, b, i, j: i * 3 + j,
    lambda e, x, n, b, i, j: e.cast(i, "float32") * x[i, j],
    lambda e, x, n, b, i, j: e.maximum(e.minimum(x[i, j], 0.5), -0.5),
    lambda e, x, n, b, i, j: 7.5,
]

REFUSED: list[tuple[Element, str]] = [
    (lambda e, x, n, b, i, j: x[i, j] if x[i, j] else 0.0, "write select"),
    (lambda e, x, n, b, i, j: x[i, j] if i == 0 else 0.0, "write select"),
    (lambda e, x, n, b, i, j: x[i, j] if 0 == i else 0.0, "write select"),
    (lambda e, x, n, b, i, j: x[i, j] if i != j else 0.0, "write select"),
    (lambda e, x, n, b, i, j: x[i, j] if x[i, j] == x[0, j] else 0.0, "write select"),
    (lambda e, x, n, b, i, j: x[i, j] if i else 0.0, "write select"),
    (lambda e, x, n, b, i, j: x[i, j] if i + 1 else 0.0, "write select"),
    (lambda e, x, n, b, i, j: x[i, j] if not b[i, j] else 0.0, "write select"),
    (lambda e, x, n, b, i, j: x[i, j] or 1.0, "`or`"),
    (lambda e, x, n, b, i, j: x[i, j] and 1.0, "`and`"),
    (lambda e, x, n, b, i, j: not x[i, j], "`not`"),
    (lambda e, x, n, b, i, j: e.select(0 <= i < 3, x[i, j], 0.0), "`&`"),
    (lambda e, x, n, b, i, j: e.select(i > 0 and j > 0, x[i, j], 0.0), "`&`"),
    (lambda e, x, n, b, i, j: e.select(i > 0 & j, 1.0, 0.0), "unsupported operand"),
    (lambda e, x, n, b, i, j: e.select(i in (0, 2), 1.0, 0.0), "`in`"),
    (lambda e, x, n, b, i, j: 1.0 if i in {0: 1} else 0.0, "`in`"),
    (lambda e, x, n, b, i, j: 1.0 if x[i, j] in {0.0, 0.5} else 0.0, "`in`"),
    (lambda e, x, n, b, i, j: {0: 1.0}.get(i + 1, 0.0), "not known"),
    (lambda e, x, n, b, i, j: e.select(x[i, j] in [0.5], 1.0, 0.0), "`in`"),
    (lambda e, x, n, b, i, j: min(x[i, j], 0.0), "minimum"),
    (lambda e, x, n, b, i, j: max(0.0, x[i, j]), "maximum"),
    (lambda e, x, n, b, i, j: x[max(i - 1, 0), j], "maximum"),
    (lambda e, x, n, b, i, j: sorted([x[i, j], x[i, 0]])[0], "not known"),
    (lambda e, x, n, b, i, j: any([x[i, j] > 0]), "not known"),
    (lambda e, x, n, b, i, j: int(x[i, j]), "cast"),
    (lambda e, x, n, b, i, j: float(i), "no number"),
    (lambda e, x, n, b, i, j: math.exp(x[i, j]), "functions of it are those of"),
    (lambda e, x, n, b, i, j: np.exp(x[i, j]), "ufunc"),
    (lambda e, x, n, b, i, j: np.maximum(x[i, j], 0.0), "ufunc"),
    (lambda e, x, n, b, i, j: np.where(x[i, j] > 0, 1.0, 0.0), "not known"),
    (lambda e, x, n, b, i, j: x[i, j].sum(), "AttributeError"),
    (lambda e, x, n, b, i, j: [1.0, 2.0, 3.0, 4.0][i], "list indices"),
    (lambda e, x, n, b, i, j: sum(x[k, j] for k in range(i)), "integer"),
    (lambda e, x, n, b, i, j: [v for v in x][0], "x is a tensor"),
    (lambda e, x, n, b, i, j: [v for v in x[i, j]][0], "not iterable"),
    (lambda e, x, n, b, i, j: [v for v in i][0], "not iterable"),
    (lambda e, x, n, b, i, j: len(x) * 1.0, "x is a tensor"),
    (lambda e, x, n, b, i, j: len(x[i, j]), "no len"),
    (lambda e, x, n, b, i, j: 1.0 if 0.5 in x else 0.0, "x is a tensor"),
    (lambda e, x, n, b, i, j: 1.0 if x == 0 else 2.0, "x is a tensor"),
    (lambda e, x, n, b, i, j: 1.0 if x == n else 2.0, "x is a tensor"),
    (lambda e, x, n, b, i, j: 1.0 if x else 2.0, "x is a tensor"),
    (lambda e, x, n, b, i, j: x + 1.0, "read an element of it, as x\\[i, j\\]"),
    (lambda e, x, n, b, i, j: x[i, j] + x, "read an element of it"),
    (lambda e, x, n, b, i, j: e.exp(x), "read an element of it"),
    (lambda e, x, n, b, i, j: x, "read an element of it"),
    (lambda e, x, n, b, i, j: x[0.5, j], "got float"),
    (lambda e, x, n, b, i, j: x[i / 2, j], "unsupported operand"),
    (lambda e, x, n, b, i, j: x[x[i, j], j], "got Read.*lookup"),
    (lambda e, x, n, b, i, j: x[True, j], "true or false"),
    (lambda e, x, n, b, i, j: x[i > 0, j], "got Op"),
    (lambda e, x, n, b, i, j: x[i, 1:], "got slice"),
    (lambda e, x, n, b, i, j: x[i][j], r"x has 2 dimensions, got 1 index$"),
    (lambda e, x, n, b, i, j: x[i // -2 + 2, j], "positive whole numbers"),
    (lambda e, x, n, b, i, j: x[i % 0, j], "positive whole numbers"),
    (lambda e, x, n, b, i, j: x[i // j, j], "got Axis"),
    (lambda e, x, n, b, i, j: e.select(i > 0, x[i - 1, j], x[-1, j]), "reads from -1 to -1"),
    (lambda e, x, n, b, i, j: x[i + 1, j], "reads from 1 to 4"),
    (lambda e, x, n, b, i, j: e.select(i >= 1, x[i - 2, j], 0.0), "does not keep it inside"),
    (lambda e, x, n, b, i, j: e.select(b[i, j], x[i - 1, j], 0.0), "does not keep it inside"),
    (lambda e, x, n, b, i, j: e.select((i > 0) | b[i, j], x[i - 1, j], 0.0), "not keep it inside"),
    (
        lambda e, x, n, b, i, j: e.select(i > 0, x[e.lookup(n[i, j], 4) - 1, j], 0.0),
        "does not keep it inside",
    ),
    (lambda e, x, n, b, i, j: (i > 0) & (x[i - 1, j] > 0), "reads from -1 to 2"),
    (lambda e, x, n, b, i, j: n[i, j] / 2, "write x // y"),
    (lambda e, x, n, b, i, j: x[i, j] // 0.1, "// of float32"),
    (lambda e, x, n, b, i, j: n[i, j] * 0.5, "no int32"),
    (lambda e, x, n, b, i, j: n[i, j] + x[i, j], "cast one side"),
    (lambda e, x, n, b, i, j: n[i, j] == i, "cast one side"),
    (lambda e, x, n, b, i, j: e.exp(n[i, j]), "exp of int32"),
    (lambda e, x, n, b, i, j: n[i, j] ** 2, "pow of int32"),
    (lambda e, x, n, b, i, j: x[i, j] % 0.3, "% of float32"),
    (lambda e, x, n, b, i, j: -b[i, j], "neg of bool"),
    (lambda e, x, n, b, i, j: b[i, j] - b[i, 0], "sub of bool"),
    (lambda e, x, n, b, i, j: b[i, j] * 2.0, "no bool"),
    (lambda e, x, n, b, i, j: b[i, j] + 1, "no bool"),
    (lambda e, x, n, b, i, j: e.select(x[i, j], 1.0, 0.0), "select by float32"),
    (lambda e, x, n, b, i, j: e.logical_and(x[i, j], n[i, j]), "and of float32"),
    (lambda e, x, n, b, i, j: ~x[i, j], "not of float32"),
    (lambda e, x, n, b, i, j: e.cast(x[i, j], "flaot32"), "cast to 'flaot32'"),
    (lambda e, x, n, b, i, j: x is None, "is False for every element"),
    (lambda e, x, n, b, i, j: None, "got None"),
    (lambda e, x, n, b, i, j: (x[i, j], 1.0), "expected a value"),
    (lambda e, x, n, b, i, j: x[i, j] + "1", "expected a value"),
    (lambda e, x, n, b, i, j: f"{x[i, j]:.2f}", "unsupported format"),
    (lambda e, x, n, b, i, j: reduce_sum(x[i, j]), "at least one axis"),
    (lambda e, x, n, b, i, j: reduce_sum(b[i, 0], reduce_axis(2)), "of bool: cast it first"),
    (lambda e, x, n, b, i, j: reduce_sum(x[i, 0] > 0, reduce_axis(2)), "of bool: cast it first"),
    (lambda e, x, n, b, i, j: reduce_sum(x[i, j], i + 1), "axes that reduce_axis gives"),
    (lambda e, x, n, b, i, j: reduce_sum(x[i, 0], reduce_axis(j + 1, "k")), "select\\(k <= j"),
    (lambda e, x, n, b, i, j: reduce_sum(x[i, 0], reduce_axis(2.5, "k")), "expected a whole number"),
    (lambda e, x, n, b, i, j: 2 * reduce_sum(x[i, 0], reduce_axis(2)), "compute of its own"),
    (lambda e, x, n, b, i, j: e.exp(reduce_sum(x[i, 0], reduce_axis(2))), "compute of its own"),
    (lambda e, x, n, b, i, j: reduce_max(x[i, 0], reduce_axis(2)) == 0, "compute of its own"),
    (
        lambda e, x, n, b, i, j: reduce_sum(reduce_max(x[i, 0], reduce_axis(2)), reduce_axis(2)),
        "compute of its own",
    ),
    (lambda e, x, n, b, i, j: x[i, reduce_axis(2, "k")], "k is no axis of it"),
    (lambda e, x, n, b, i, j: e.cast(reduce_axis(2, "k"), "float32"), "k is no axis of it"),
    (lambda e, x, n, b, i, j: compute("inner", (j,), lambda k: x[i, k]), "expected a whole number"),
    (lambda e, x, n, b, i, j: compute("c", (x.shape[0] / 2,), lambda k: x[k, 0]), "is 2.0"),
    (lambda e, x, n, b, i, j: 1 / 0, "ZeroDivisionError"),
    (lambda e, x, n, b, i, j: x[i, j] + unknown, "NameError"),
]  # fmt: skip


@pytest.mark.parametrize("element", UNDERSTOOD, ids=range(len(UNDERSTOOD)))
def test_what_is_understood_means_at_every_place_what_python_means_there(element: Element) -> None:
    dag, expected = _defined(element), _theirs(element)
    np.testing.assert_allclose(evaluate(dag, ARRAYS)[0], expected, rtol=1e-6)
    program = lower(Schedule.of(dag), "hostile")
    np.testing.assert_allclose(interpret(program, ARRAYS)[0], expected, rtol=1e-6)


@pytest.mark.parametrize(("element", "message"), REFUSED, ids=range(len(REFUSED)))
def test_what_would_be_misunderstood_is_one_line_with_its_place_and_remedy(
    element: Element, message: str
) -> None:
    with pytest.raises(UsageError, match=message) as error:
        _defined(element)
    told = str(error.value)
    assert "\n" not in told
    assert "hostile: test_hostile_definitions.py:" in told


class _Written:
    """Expressions as somebody might write them, by chance: right ones and wrong ones."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def any_of(self, *choices: Callable[[], str]) -> str:
        return self.chance.choice(choices)()

    def place(self) -> str:
        return self.chance.choice(
            ["i, j", "3 - i, j", "i // 2, j % 3", "i, 0", "j % 4, i", "i, j - 1"]
        )

    def number(self) -> str:
        return self.chance.choice(["0", "1", "2", "-1", "0.5", "-1.5", "True"])

    def value(self, depth: int) -> str:
        read = self.chance.choice("xxn")
        if depth == 0:
            return self.any_of(
                lambda: f"{read}[{self.place()}]", self.number, lambda: self.chance.choice("ij")
            )
        one, other = self.value(depth - 1), self.value(depth - 1)
        sign = self.chance.choice(["+", "-", "*", "/", "//", "%"])
        return self.any_of(
            lambda: f"{read}[{self.place()}]",
            lambda: f"({one} {sign} {other})",
            lambda: f"({one} {sign} {other})",
            lambda: f"e.select({self.condition(depth - 1)}, {one}, {other})",
            lambda: f"e.select({self.condition(depth - 1)}, {one}, {other})",
            lambda: f"e.select({self.condition(depth - 1)}, {one}, {other})",
            lambda: f"({one} if {self.condition(depth - 1)} else {other})",
            lambda: (
                f"{self.chance.choice(['min', 'max', 'e.maximum', 'e.minimum'])}({one}, {other})"
            ),
            lambda: f"abs({one})",
            lambda: f"({one} or {other})",
        )

    def condition(self, depth: int) -> str:
        one, other = self.value(depth), self.value(depth)
        sign = self.chance.choice(["<", "<=", ">", ">=", "==", "!="])
        compared = f"({one} {sign} {other})"
        return self.any_of(
            lambda: compared,
            lambda: compared,
            lambda: f"(i {sign} j)",
            lambda: f"(i {sign} {self.number()})",
            lambda: f"(x[{self.place()}] {sign} {self.number()})",
            lambda: f"(b[{self.place()}] & {compared})",
            lambda: f"(b[{self.place()}] | (i < j))",
            lambda: f"({compared} {self.chance.choice(['and', 'or'])} i)",
            lambda: f"(not {compared})",
            lambda: f"({self.number()} {sign} {one} {sign} {other})",
            lambda: f"({one} in (0, {self.number()}))",
        )


@pytest.mark.parametrize("seed", range(4))
def test_what_anybody_writes_means_what_python_means_or_is_refused_in_one_line(seed: int) -> None:
    written, understood, refused = _Written(seed), 0, 0
    while understood < 40:
        text = written.value(2)
        element: Element = eval(f"lambda e, x, n, b, i, j: {text}")
        try:
            dag = _defined(element)
        except UsageError as error:
            assert "\n" not in str(error)
            refused += 1
            continue
        (got,) = interpret(lower(Schedule.of(dag), "written"), ARRAYS)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = _theirs(element)
            except (ZeroDivisionError, IndexError):
                continue
        np.testing.assert_allclose(got, expected, rtol=1e-5, err_msg=text)
        understood += 1
    assert refused > understood


def test_a_condition_in_the_function_itself_is_refused_too() -> None:
    @operator()
    def outside(x: Tensor) -> Tensor:
        scale = 1.0 if x[0] == x[1] else 2.0
        return compute("outside", x.shape, lambda i: x[i] * scale)

    with pytest.raises(UsageError, match=r"outside: test_hostile.*: \(x\[0\] == x\[1\]\) is not"):
        Operators([outside]).workload("outside", [TensorSpec((3,))])


def test_outside_of_definitions_values_and_indexes_are_equal_to_what_is_the_same() -> None:
    x = placeholder("x", (3,))
    assert x[1] == x[1]
    assert x[1] != x[2]
    assert len({x[1], x[1], x[2]}) == 2
    assert x[0] + 1.0 == x[0] + 1.0
    k = reduce_axis(3, "k")
    assert k == reduce_axis(3, "k")
    assert k + 1 == k.affine() + 1
    assert k + 1 != k + 2


def test_a_comparison_with_a_number_is_never_taken_for_its_truth() -> None:
    k = reduce_axis(3, "k")
    with pytest.raises(TypeError, match=r"\(k == 0\) is not known"):
        assert k == 0
    with pytest.raises(TypeError, match="write select"):
        assert k + 1 < 3
