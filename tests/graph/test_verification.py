"""Verification compares all that it should, and refuses an oracle whose answers hardly vary."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tilewright.errors import UsageError
from tilewright_graph.verification.verification import check_fit, compare


def test_the_relative_error_is_over_the_largest_of_the_oracle():
    result = compare({"y": np.array([1.0, 4.5])}, {"y": np.array([1.0, 4.0])})
    assert (result.max_abs_error, result.max_rel_error) == (0.5, 0.125)


def test_where_a_decisive_answer_hardly_varies_the_error_is_relative_to_how_much_it_does():
    theirs = {"y": np.array([99.5, 100.0, 100.5])}
    ours = {"y": theirs["y"] + 0.25}
    assert compare(ours, theirs, ["y"]).max_rel_error == 0.5
    assert compare(ours, theirs).max_rel_error == 0.25 / 100.5


def test_the_worst_tensor_counts():
    ours = {"y": np.array([1.0]), "logits": np.array([3.0, 0.0])}
    theirs = {"y": np.array([1.0]), "logits": np.array([2.0, 0.0])}
    assert compare(ours, theirs).max_rel_error == 0.5


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_an_answer_that_is_not_finite_is_infinitely_wrong(bad):
    assert compare({"y": np.array([1.0, bad])}, {"y": np.array([1.0, 2.0])}).max_rel_error == np.inf


def test_the_worst_tensor_is_named():
    ours, theirs = {"a": np.ones(2), "b": np.ones(2)}, {"a": np.ones(2), "b": np.full(2, 3.0)}
    assert compare(ours, theirs).worst == "b"


def test_zeros_against_zeros_are_right():
    assert compare({"y": np.zeros(3)}, {"y": np.zeros(3)}).max_rel_error == 0.0


def test_a_tensor_that_is_missing_or_misshapen_is_no_agreement():
    with pytest.raises(KeyError):
        compare({}, {"y": np.zeros(3)})
    with pytest.raises(UsageError, match="shape"):
        compare({"y": np.zeros(1)}, {"y": np.zeros(3)})


@pytest.mark.parametrize(
    "logits",
    [
        np.full(10, 7.0),
        np.linspace(0.999, 1.0, 10, dtype=np.float32),
        np.zeros(10),
        np.zeros(1),
        np.array([1.0, np.nan]),
    ],
)
def test_an_oracle_that_does_not_vary_beyond_rounding_is_unfit(logits):
    with pytest.raises(UsageError, match="oracle 'them': unfit: tensor 'logits'"):
        check_fit("them", {"logits": logits, "y": np.arange(3.0)}, ["logits"], 1e-4)


@pytest.mark.parametrize(
    ("dtype", "rounding"), [(np.float16, "0.00098"), (ml_dtypes.bfloat16, "0.0078")]
)
def test_an_error_finer_than_the_dtype_of_the_answers_is_told_as_such(dtype, rounding):
    half = np.linspace(0, 1, 10).astype(dtype)
    with pytest.raises(UsageError) as caught:
        check_fit("them", {"y": half}, ["y"], 1e-4)
    told = f"ask for an rtol well above {rounding}: {half.dtype} is no finer"
    assert caught.value.remedy == told
    check_fit("them", {"y": half}, ["y"], 1e-2)


@pytest.mark.parametrize("answer", [np.linspace(100, 101, 10), np.array([[3.0]])])
def test_a_regressor_with_a_bias_and_one_with_a_single_output_are_fit(answer):
    check_fit("them", {"y": answer.astype(np.float32)}, ["y"], 1e-4)
