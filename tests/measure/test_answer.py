"""When an answer is taken for right."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.measure import FailureKind
from tilewright_measure.timing import answer
from tilewright_measure.timing.answer import Case, compare
from tilewright_measure.worker.failures import RefusedError

EXPECTED = np.array([1.0, -2.0, np.nan, np.inf, -np.inf, 0.5], np.float32)


def test_a_unit_is_allowed_besides_what_is_relative():
    compare(EXPECTED + np.float32(1), EXPECTED, 1e-5, "output 0", unit=1.0)
    with pytest.raises(RefusedError, match=r"at most 0\.5 is right"):
        compare(EXPECTED + np.float32(1.1), EXPECTED, 1e-5, "output 0", unit=1.0)


def test_what_is_not_finite_must_be_the_same_and_the_rest_near():
    compare(EXPECTED + np.float32(1e-6), EXPECTED, 1e-5, "output 0")


@pytest.mark.parametrize(
    ("place", "value"), [(2, 0.0), (2, np.inf), (3, np.nan), (3, -np.inf), (0, np.nan), (5, 0.6)]
)
def test_a_difference_anywhere_is_a_wrong_answer(place, value):
    got = EXPECTED.copy()
    got[place] = value
    with pytest.raises(RefusedError, match="1 of 6 elements are wrong, first at") as error:
        compare(got, EXPECTED, 1e-5, "output 0")
    assert error.value.kind is FailureKind.WRONG_ANSWER


def test_cases_of_bfloat16_are_kept_for_the_next_worker(tmp_path):
    reference = PluginHost.load().reference("dense")
    workload = reference.parse("(3x5:bfloat16, 7x5:const:bfloat16)", "")
    made, kept = (Case.of(workload, reference, 0, "float32", tmp_path) for _ in range(2))
    for one, other in zip(
        (*made.inputs, *made.outputs), (*kept.inputs, *kept.outputs), strict=True
    ):
        assert one.dtype == other.dtype == ml_dtypes.bfloat16
        np.testing.assert_array_equal(one, other)


def test_a_case_keeps_what_was_asked_for_last_as_far_as_it_fits(tmp_path, monkeypatch):
    case = _case("(1x4x3x5)", tmp_path)
    first = case.packed(0, "NCHW")
    monkeypatch.setattr(answer, "_MOST_KEPT_BYTES", 2 * first.nbytes)
    second = case.packed(0, "NHWC")
    assert case.packed(0, "NCHW") is first
    case.packed(0, "NCHW4c")  # in place of the second
    assert case.packed(0, "NCHW") is first
    assert case.packed(0, "NHWC") is not second


def test_where_nothing_is_finite_nobody_is_to_blame():
    nothing = np.full(4, np.nan, np.float32)
    with pytest.raises(RefusedError, match="nothing can be checked") as error:
        compare(nothing, nothing, 1e-5, "output 0")
    assert error.value.kind is FailureKind.INTERNAL


def _case(text, folder):
    reference = PluginHost.load().reference("relu")
    return Case.of(reference.parse(text, ""), reference, 0, "float32", folder)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW4c", "N4cCHW"])
def test_an_output_is_compared_as_it_lies(tmp_path, layout):
    """Eleven channels in blocks of four: what stands in the place of a twelfth does not count."""
    case = _case("(1x11x3x5)", tmp_path)
    (expected,) = case.outputs
    right = np.array(case.reference.pack(expected, layout))
    case.check(0, layout, right)
    if layout == "NCHW4c":
        right[0, 2, :, :, 3] = np.nan
        case.check(0, layout, right)
    wrong = right.copy()
    wrong.reshape(-1)[0] += np.float32(2)
    with pytest.raises(RefusedError, match=r"1 of 165 elements are wrong, first at \(0, 0, 0, 0\)"):
        case.check(0, layout, wrong)


def test_an_output_of_fewer_digits_is_compared_with_what_was_not_rounded(tmp_path):
    """Rounded to bfloat16 it is farther off than float32 may be, be it rounded as expected."""
    case = _case("(1x11x3x5)", tmp_path)
    rounded = case.reference.pack(case.outputs[0], "NCHW4c:bfloat16")
    with pytest.raises(RefusedError, match="elements are wrong"):
        case.check(0, "NCHW4c:bfloat16", rounded)


def test_a_nan_and_an_infinity_are_compared_in_every_layout(tmp_path):
    case = _case("(1x4x3x5)", tmp_path)
    case.outputs[0][0, 1, 2, 3], case.outputs[0][0, 3, 0, 0] = np.nan, np.inf
    right = np.array(case.reference.pack(case.outputs[0], "NCHW4c"))
    case.check(0, "NCHW4c", right)
    right[np.isnan(right)] = 0
    with pytest.raises(RefusedError, match=r"1 of 60 elements are wrong, first at \(0, 1, 2, 3\)"):
        case.check(0, "NCHW4c", right)
