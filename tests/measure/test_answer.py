"""When an answer is taken for right."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.measure import FailureKind
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


def test_where_nothing_is_finite_nobody_is_to_blame():
    nothing = np.full(4, np.nan, np.float32)
    with pytest.raises(RefusedError, match="nothing can be checked") as error:
        compare(nothing, nothing, 1e-5, "output 0")
    assert error.value.kind is FailureKind.INTERNAL
