"""Operators made by `@operator`: what users get wrong is told in a line, with its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tilewright.errors import UsageError
from tilewright.vocabulary.workload import TensorSpec
from tilewright_tensor.expressions.expr import cast, ge, select
from tilewright_tensor.expressions.tensor import Tensor
from tilewright_tensor.ir.dag import compute, reduce_axis, reduce_max, reduce_sum
from tilewright_tensor.operators.definition.attribute import Attribute, extents
from tilewright_tensor.operators.definition.operator_def import Operand, OperatorDef
from tilewright_tensor.operators.operator import operator
from tilewright_tensor.operators.operators import Operators, builtin_operators
from tilewright_tensor.operators.reference import OperatorReference


def _reference(definition: OperatorDef) -> OperatorReference:
    return OperatorReference(
        definition.name, Operators([*builtin_operators().values(), definition])
    )


def row_sum(data: Tensor) -> Tensor:
    k = reduce_axis(data.shape[1], "k")
    return compute("row_sum", data.shape[:1], lambda i: reduce_sum(data[i, k], k))


def _refused(function: Callable[..., Any], *shapes: tuple[int, ...]) -> str:
    definition = operator()(function)
    with pytest.raises(UsageError) as error:
        Operators([definition]).workload(definition.name, [TensorSpec(s) for s in shapes])
    return str(error.value)


def test_a_function_that_fails_is_told_with_its_line() -> None:
    def rows(data: Tensor) -> Tensor:
        return compute("rows", data.shape[:1], lambda i: data[i, i])

    line = rows.__code__.co_firstlineno + 1
    message = _refused(rows, (3,))
    assert message.startswith(
        f"rows: test_own_operator_mistakes.py:{line}: data has 1 dimension, got 2 indexes"
    )


def test_a_read_outside_a_tensor_is_found_before_anything_runs() -> None:
    def shifted(data: Tensor) -> Tensor:
        return compute("shifted", data.shape, lambda i: data[i + 1])

    line = shifted.__code__.co_firstlineno + 1
    assert _refused(shifted, (5,)) == (
        f"shifted: test_own_operator_mistakes.py:{line}: "
        "data[i + 1] reads from 1 to 5 of dimension 0, which has extent 5"
    )


def test_of_many_lines_the_one_is_named_that_reads_outside() -> None:
    def twice(data: Tensor, other: Tensor) -> Tensor:
        first = compute("first", data.shape, lambda i: data[i] + other[i])

        def element(i: Any) -> Any:
            left = first[i]
            right = first[i - 1]
            return left + right

        return compute("twice", data.shape, element)

    line = twice.__code__.co_firstlineno + 5
    assert _refused(twice, (5,), (5,)).startswith(
        f"twice: test_own_operator_mistakes.py:{line}: first[i - 1] reads from -1"
    )


def test_two_tensors_of_one_name_are_told_with_the_file() -> None:
    def twins(data: Tensor) -> Tensor:
        first = compute("data", data.shape, lambda i: data[i] + 1.0)
        return compute("twins", data.shape, lambda i: first[i])

    line = twins.__code__.co_firstlineno
    message = _refused(twins, (5,))
    assert message.startswith(
        f"twins: test_own_operator_mistakes.py:{line}: tensor names must differ"
    )


def test_a_read_that_a_condition_guards_is_fine() -> None:
    @operator()
    def shifted(data: Tensor) -> Tensor:
        return compute("shifted", data.shape, lambda i: select(ge(i, 1), data[i - 1], 0.0))

    reference = _reference(shifted)
    workload = reference.parse("(5)", "")
    (data,) = reference.inputs(workload, seed=1)
    np.testing.assert_array_equal(reference.outputs(workload, [data])[0], [0, *data[:-1]])


def test_an_index_may_be_cast_to_a_number() -> None:
    @operator()
    def ramp(data: Tensor) -> Tensor:
        return compute("ramp", data.shape, lambda i: data[i] * cast(i, "float32"))

    reference = _reference(ramp)
    workload = reference.parse("(5)", "")
    (got,) = reference.outputs(workload, [np.ones(5, np.float32)])
    np.testing.assert_array_equal(got, range(5))


@pytest.mark.parametrize(
    ("element", "problem"),
    [
        (lambda data, i: data[i * i], "an index is a sum of axes times whole numbers, got Axis"),
        (lambda data, i: data[i * 0.5], "an index is a sum of axes times whole numbers, got float"),
        (lambda data, i: data[data[i]], "an index is a sum of axes times whole numbers, got Read"),
        (lambda data, i: i * data[i], r".*got Read; among values, cast\(axis, dtype\)"),
        (lambda data, i: i * 2 + data[i], r".*got Read; among values, cast\(axis, dtype\)"),
        (lambda data, i: select(data is None, 1.0, 2.0), "select by False: expected a comparison"),
        (lambda data, i: select(data[i], 1.0, 2.0), "select by float32: expected a comparison"),
        (lambda _, i: reduce_sum(cast(i, "float32"), reduce_axis(0, "k")), "axis k has extent 0"),
        (lambda data, i: cast(data[i], "int32") + 0.5, "0.5 is no int32"),
    ],
)
def test_slips_are_told_before_anything_runs(element: Any, problem: str) -> None:
    @operator()
    def slip(data: Tensor) -> Tensor:
        return compute("slip", data.shape, lambda i: element(data, i))

    with pytest.raises(UsageError, match=rf"slip: test_own_operator_mistakes\.py:\d+: {problem}"):
        _reference(slip).parse("(3)", "")


def test_what_is_no_tensor_is_refused() -> None:
    def nothing(data: Tensor) -> Any:
        return reduce_max(data[0], reduce_axis(3, "k"))

    line = nothing.__code__.co_firstlineno
    assert _refused(nothing, (3,)) == (
        f"nothing: test_own_operator_mistakes.py:{line}: "
        "expected that it returns what compute(...) gives, got Reduction"
    )


def test_descriptions_must_name_parameters() -> None:
    with pytest.raises(UsageError, match="operator row_sum has no parameter 'dta'") as error:
        operator(Operand("dta"))(row_sum)
    assert "did you mean 'data'?" in str(error.value)


def test_an_attribute_without_default_needs_a_description() -> None:
    def scaled(data: Tensor, *, factor: Any) -> Tensor:
        return compute("scaled", data.shape, lambda i: data[i] * factor)

    with pytest.raises(UsageError, match=r"what values does the attribute 'factor' take\?"):
        operator()(scaled)


def test_descriptions_are_of_the_right_kind() -> None:
    with pytest.raises(UsageError, match="'data' is an operand, not an attribute"):
        operator(Attribute("data", extents(2)))(row_sum)


@pytest.mark.parametrize("name", ["_hidden", "Distances", "two words", "3d", ""])
def test_names_are_such_as_the_text_form_can_read(name: str) -> None:
    def plain(data: Tensor) -> Tensor:
        return compute("plain", data.shape, lambda i: data[i])

    plain.__name__ = name
    with pytest.raises(UsageError, match=f"an operator cannot be named '{name}'"):
        operator()(plain)


# --- the example ----------------------------------------------------------------------------------
