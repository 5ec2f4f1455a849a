"""Traits of operators: those of the built-in ones hold, and what cannot be or is not true is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilewright.errors import UsageError
from tilewright.vocabulary.workload import TensorSpec, Workload
from tilewright_tensor.expressions.expr import maximum, select
from tilewright_tensor.expressions.tensor import Tensor
from tilewright_tensor.ir.dag import compute, reduce_axis, reduce_max, reduce_sum
from tilewright_tensor.operators.definition.gives_back import gives_back
from tilewright_tensor.operators.definition.operator_def import Operand, OperatorDef, joined_axis
from tilewright_tensor.operators.definition.order_of_axes import order_of_axes
from tilewright_tensor.operators.operator import operator
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.operators.reference import OperatorReference
from tilewright_tensor.operators.trials.checked_output import checked_output
from tilewright_tensor.operators.trials.trait_trial import try_traits

CASES = (Path(__file__).parent / "operator_cases.txt").read_text().splitlines()

Parse = Callable[[str], Workload]
References = Mapping[str, OperatorReference]
RNG = np.random.default_rng(11)


def output(definition: OperatorDef, *shapes: tuple[int, ...], **attributes: Any) -> TensorSpec:
    specs = [TensorSpec(shape, "float32") for shape in shapes]
    return checked_output(definition, specs, definition.normalise(attributes))


@pytest.mark.parametrize("text", CASES)
def test_traits_of_a_built_in_operator_are_those_of_its_definition(
    text: str, workload: Parse, operators: Operators
) -> None:
    task = workload(text).anchor
    definition = operators[task.operator]
    if definition.program is None:
        assert try_traits(definition, task.inputs, task.attributes) == ""
    else:
        assert not definition.has_traits()


@pytest.mark.parametrize("text", CASES)
def test_traits_of_a_built_in_operator_are_those_of_its_reference(
    text: str, workload: Parse, operators: Operators, references: References
) -> None:
    task = workload(text).anchor
    definition = operators[task.operator]
    arrays = [a.astype(np.float64) if a.dtype.kind == "f" else a
              for a in references[task.operator].inputs(task, seed=5)]  # fmt: skip
    answer = operators.evaluate(task, arrays)

    if definition.commutative:
        exchanged = Workload(task.operator, task.inputs[::-1], task.attributes)
        np.testing.assert_array_equal(operators.evaluate(exchanged, arrays[::-1]), answer)
    if definition.view:
        np.testing.assert_array_equal(answer.ravel(), arrays[0].ravel())
    if definition.slices is not None:
        ranges = definition.slices(task.inputs[0].shape, task.attributes)
        np.testing.assert_array_equal(answer, arrays[0][np.ix_(*ranges)])
    if definition.concatenates:
        axis = joined_axis([spec.shape for spec in task.inputs], answer.shape)
        np.testing.assert_array_equal(answer, np.concatenate(arrays, axis))
    if definition.contracts:
        for position, array in enumerate(arrays):
            near = array + RNG.integers(-2, 3, array.shape).astype(array.dtype)
            moved = operators.evaluate(task, [*arrays[:position], near, *arrays[position + 1 :]])
            most = np.abs(near.astype(np.float64) - array).max()
            assert np.abs(moved.astype(np.float64) - answer).max() <= most + 1e-12
    for position, array in enumerate(arrays):
        pairs = definition.scaled_axes(position, array.ndim, answer.ndim)
        if pairs is None or array.dtype.kind != "f":
            continue
        factor, made = np.full([1] * array.ndim, 2.5), np.full([1] * answer.ndim, 2.5)
        for own, axis in pairs:
            along = RNG.uniform(0.5, 1.5, array.shape[own])
            factor = factor * along.reshape([-1 if d == own else 1 for d in range(array.ndim)])
            made = made * along.reshape([-1 if d == axis else 1 for d in range(answer.ndim)])
        other = array[..., ::-1].copy()

        def applied(one: Any, position: int = position) -> Any:
            return operators.evaluate(task, [*arrays[:position], one, *arrays[position + 1 :]])

        np.testing.assert_allclose(applied(array * factor), answer * made, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(
            applied(array + other), answer + applied(other), rtol=1e-9, atol=1e-9
        )


def test_every_built_in_operator_of_weights_is_linear_in_them(operators: Operators) -> None:
    """A layer that passes do not fold into, because its definition was forgotten, is found here."""
    forgotten = [
        definition.name
        for definition in operators.values()
        for operand in definition.operands
        if operand.values == "weight" and operand.linear is None
    ]
    assert forgotten == []


def test_every_trait_has_a_built_in_operator(operators: Operators) -> None:
    def having(trait: str) -> set[str]:
        return {name for name, one in operators.items() if getattr(one, trait)}

    assert having("view") == {"reshape", "flatten"}
    assert having("concatenates") == {"concat"}
    assert having("slices") == {"slice"}
    assert {"add", "multiply", "maximum", "minimum"} <= having("commutative")


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("identity(3x5)", True),
        ("reshape(3x5, shape=[3, -1])", True),
        ("flatten(3x5)", True),
        ("transpose(3x5, axes=[0, 1])", True),
        ("pad(3x5, padding=[0, 0, 0, 0])", True),
        ("slice(3x5, begin=[0, 0], end=[3, 5])", True),
        ("broadcast_to(3x5, shape=[3, 5])", True),
        ("cast(3x5, dtype=float32)", True),
        ("concat(3x5)", True),
        ("relu(3x5)", False),
        ("reshape(3x5, shape=[5, 3])", False),
        ("transpose(5x5, axes=[1, 0])", False),
        ("slice(3x5, begin=[2, 0], end=[-4, 5], strides=[-1, 1])", False),
        ("cast(3x5, dtype=float16)", False),
        ("concat(3x5, 3x5)", False),
        ("reduce_sum(3x1, axes=[1])", False),
    ],
)
def test_what_gives_its_operand_back_is_seen_from_its_definition(
    text: str, same: bool, workload: Parse, operators: Operators
) -> None:
    task = workload(text)
    assert gives_back(operators[task.operator], task.inputs, task.attributes) is same


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("transpose(3x5x7, axes=[1, 2, 0])", (1, 2, 0)),
        ("transpose(5x5)", (1, 0)),
        ("identity(3x5)", (0, 1)),
        ("transpose(3x5) + relu()", (1, 0)),
        ("relu(3x5)", None),
        ("reshape(3x5, shape=[5, 3])", None),
        ("broadcast_to(3x1, shape=[3, 5])", None),
        ("reduce_sum(3x1, axes=[1])", None),
        ("cast(3x5, dtype=float16)", None),
        ("add(3x5, 3x5)", None),
    ],
)
def test_the_order_of_axes_is_seen_from_the_definition(
    text: str, order: tuple[int, ...] | None, workload: Parse, operators: Operators
) -> None:
    task = workload(text).anchor
    assert order_of_axes(operators[task.operator], task.inputs, task.attributes) == order


def copy(data: Tensor) -> Tensor:
    return compute("copy", data.shape, lambda *place: data[place])


def turned(data: Tensor) -> Tensor:
    return compute("turned", data.shape[::-1], lambda i, j: data[j, i])


def row_sums(data: Tensor, weight: Tensor) -> Tensor:
    k = reduce_axis(data.shape[1], "k")
    return compute("row_sums", (data.shape[0], weight.shape[0]),
                   lambda i, j: reduce_sum(data[i, k] * weight[j, k], k))  # fmt: skip


def difference(a: Tensor, b: Tensor) -> Tensor:
    return compute("difference", a.shape, lambda *place: a[place] - b[place])


def larger(a: Tensor, b: Tensor) -> Tensor:
    return compute("larger", a.shape, lambda *p: select(a[p] < b[p], b[p], a[p]))


def shifted(data: Tensor) -> Tensor:
    return compute("shifted", data.shape, lambda *place: data[place] + 1.0)


def rectified(data: Tensor) -> Tensor:
    return compute("rectified", data.shape, lambda *place: maximum(data[place], 0.0))


def largest(data: Tensor) -> Tensor:
    k = reduce_axis(data.shape[1], "k")
    return compute("largest", data.shape[:1], lambda i: reduce_max(data[i, k], k))


def interleaved(*tensors: Tensor) -> Tensor:
    count = len(tensors)

    def element(i: Any, j: Any) -> Any:
        value = tensors[-1][i, j // count]
        for number, tensor in enumerate(tensors[:-1]):
            value = select((j % count) <= number, tensor[i, j // count], value)
        return value

    return compute("interleaved", (tensors[0].shape[0], count * tensors[0].shape[1]), element)


def tail(data: Tensor, *, count: int = 2) -> Tensor:
    rows = data.shape[0] - count
    return compute("tail", (count, data.shape[1]), lambda i, j: data[i + rows, j])


@pytest.mark.parametrize(
    ("definition", "shapes"),
    [
        (operator(commutative=True)(larger), [(3, 5), (3, 5)]),
        (operator(commutative=True, elementwise=True)(larger), [(3, 5), (1, 5)]),
        (operator(view=True)(copy), [(3, 5)]),
        (operator(Operand("weight", linear=((0, 1),)))(row_sums), [(4, 5), (3, 5)]),
        (operator(Operand("weight", linear=((0, -1),)))(row_sums), [(4, 5), (3, 5)]),
        (operator(Operand("weight", linear=()))(row_sums), [(4, 5), (3, 5)]),
        (
            operator(slices=lambda shape, given: [range(shape[0] - given["count"], shape[0]),
                                                  range(shape[1])])(tail),
            [(7, 5)],
        ),
        (operator(random=True)(shifted), [(7, 5)]),
    ],
)  # fmt: skip
def test_traits_that_hold_are_taken(definition: OperatorDef, shapes: list[tuple[int, ...]]) -> None:
    output(definition, *shapes)


@pytest.mark.parametrize(
    ("definition", "shapes", "problem"),
    [
        (operator(commutative=True)(difference), [(3, 5)] * 2, r"difference: \S+\.py:\d+: it is not commutative"),
        (operator(commutative=True)(row_sums), [(3, 5), (4, 5)], r"row_sums: \S+\.py:\d+: it is not commutative"),
        (operator(view=True)(turned), [(5, 5)], r"turned: \S+: it is not a view"),
        (operator(view=True)(tail), [(5, 5)], r"tail: \S+: it is not a view: cannot reshape"),
        (operator(slices=lambda shape, _: [range(2), range(5)])(tail), [(5, 5)],
         r"tail: \S+: it is not the slice that it says: its definition gives .* around \[0, 0\]"),
        (operator(slices=lambda shape, _: [range(3), range(5)])(tail), [(5, 5)],
         r"tail: .* the output would have shape \[2, 5\] instead of \[3, 5\]"),
        (operator(concatenates=True)(interleaved), [(3, 5)] * 2, "it is not a concatenation"),
        (operator(Operand("data", linear=()))(shifted), [(3, 5)], "it is not linear in data: "),
        (operator(Operand("data", linear=()), elementwise=True)(rectified), [(3, 5)],
         "it is not linear in data"),
        (operator(Operand("data", linear=()))(largest), [(3, 5)], "it is not linear in data"),
        (operator(Operand("weight", linear=((1, 1),)))(row_sums), [(5, 5), (5, 5)],
         "it is not linear in weight along its axes"),
        (operator(Operand("weight", linear=((0, 0),)))(row_sums), [(3, 5), (4, 5)],
         "axis 0 of extent 4 is not axis 0 of the output, of extent 3"),
        (operator(Operand("weight", linear=((0, 2),)))(row_sums), [(3, 5), (4, 5)],
         "it has no axes 0 and 2"),
    ],
)  # fmt: skip
def test_a_trait_that_the_definition_contradicts_is_refused(
    definition: OperatorDef, shapes: list[tuple[int, ...]], problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        output(definition, *shapes)


def test_an_operator_that_is_described_by_hand_is_tried_too() -> None:
    described = OperatorDef(
        "shifted",
        (Operand("data", linear=()),),
        lambda inputs, _attributes: (inputs[0].shape, inputs[0].dtype),
        lambda tensors, _attributes: shifted(*tensors),
    )
    with pytest.raises(UsageError, match="shifted: it is not linear in data"):
        output(described, (3, 5))


@pytest.mark.parametrize(
    ("define", "problem"),
    [
        (
            lambda: operator(commutative=True)(copy),
            r"^test_operator_traits.py:\d+: the operator copy cannot be commutative: expected two",
        ),
        (lambda: operator(commutative=True)(interleaved), "be commutative: expected two operands"),
        (
            lambda: operator(Operand("b", values="positive"), commutative=True)(difference),
            "be commutative: expected operands of the same random values",
        ),
        (lambda: operator(view=True)(difference), "be a view: expected one operand"),
        (lambda: operator(slices=lambda *_: [])(difference), "be a slice: expected one operand"),
        (lambda: operator(concatenates=True)(difference), "concatenate: expected any number"),
        (
            lambda: operator(view=True, slices=lambda *_: [])(copy),
            "have more than one of the traits view, concatenates and slices",
        ),
        (lambda: operator(view=True, random=True)(copy), "be random: a view, .* draws nothing"),
        (
            lambda: operator(Operand("data", linear=()), random=True)(copy),
            "be random: .* linear operator draws nothing",
        ),
        (
            lambda: operator(Operand("tensors", linear=()))(interleaved),
            r"be linear in \*tensors, which is any number of operands",
        ),
    ],
)
def test_a_trait_that_cannot_be_is_refused_where_it_is_declared(
    define: Callable[[], OperatorDef], problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        define()
