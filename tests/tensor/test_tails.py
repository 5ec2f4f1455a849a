"""What computations make of rows that nobody gave."""

from __future__ import annotations

from math import inf, isnan

import pytest

from tilewright_tensor.evaluation.tails import Known, tail_of
from tilewright_tensor.expressions.expr import exp, logical_not, select
from tilewright_tensor.ir.dag import placeholder

GIVEN, NOTHING = Known.GIVEN, Known.NOTHING
A, B, C = placeholder("a", (3,)), placeholder("b", (3,)), placeholder("c", (3,), "bool")


def tail(value, a=NOTHING, b=NOTHING, c=NOTHING):
    known = {A: a, B: b, C: c}
    return tail_of(value, lambda read: known[read.tensor])


def test_zeros_stay_zeros_of_what_was_given_and_of_nothing_else():
    assert tail(A[0] * B[0], 0.0, GIVEN) == tail(B[0] * A[0], 0.0, GIVEN) == 0
    assert tail(A[0] / B[0], 0.0, GIVEN) == 0
    assert tail(A[0] * B[0], 0.0, NOTHING) is NOTHING
    assert tail(B[0] / A[0], 0.0, GIVEN) is GIVEN
    assert tail(A[0] + B[0], 0.0, GIVEN) is GIVEN


def test_what_is_least_stays_so_and_is_raised_to_zero():
    assert tail(A[0] * 0.5 + B[0], 2.0, -inf) == -inf
    assert tail(exp(A[0] - B[0]), -inf, GIVEN) == 0
    assert tail(B[0] - A[0], -inf, GIVEN) == inf
    assert tail(exp(A[0] - B[0]), -inf, NOTHING) is NOTHING


def test_a_mask_takes_one_side_whatever_the_other_one_is():
    assert tail(select(C[0], A[0], B[0]), NOTHING, -inf, 0.0) == -inf
    assert tail(select(C[0], A[0], B[0]), -inf, NOTHING, 1.0) == -inf
    assert tail(select(logical_not(C[0]), A[0], B[0]), 0.0, NOTHING, 0.0) == 0
    assert tail(select(C[0], A[0], B[0]), 0.0, 0.0, NOTHING) == 0
    assert tail(select(C[0], A[0], B[0]), 0.0, 1.0, NOTHING) is NOTHING
    assert tail(select(C[0], A[0], B[0]), 0.0, 1.0, GIVEN) is GIVEN


@pytest.mark.parametrize("value", [inf, -inf])
def test_infinities_that_have_no_sum_are_no_number(value):
    assert isnan(tail(A[0] * B[0], value, 0.0))
    assert isnan(tail(A[0] - B[0], value, value))
