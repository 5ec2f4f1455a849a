"""D-17, D-19, D-20: a time counts only behind a right answer, and only if it can be one."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.vocabulary.measure import Conditions, FailureKind
from tilewright_measure.timing.answer import compare
from tilewright_measure.worker.failures import RefusedError


@pytest.mark.parametrize("layout", ["plain", "reversed"])
@pytest.mark.parametrize("shape", [(), (1,), (37,), (4099,)])
def test_a_right_answer_is_timed(bench, shape, layout):
    assert bench.measure(shape=shape, layout=layout).costs == (1e-3,) * 5


@pytest.mark.parametrize(
    ("launch", "place"),
    [("skips_the_tail", "(36,)"), ("writes_nan", "(3,)"), ("off_by_little", "(5,)")],
)
def test_d19_a_wrong_answer_has_no_time_and_names_its_place(bench, launch, place):
    result = bench.measure(launch)
    assert result.failure.kind is FailureKind.WRONG_ANSWER
    assert f"first at {place}" in result.failure.text
    assert not result.costs


def test_d19_a_wrong_number_has_no_time(bench):
    """The result of a reduction over all axes is an array without any."""
    failure = bench.measure("writes_nothing", shape=()).failure
    assert failure.kind is FailureKind.WRONG_ANSWER
    assert "1 of 1 elements" in failure.text


def test_d20_an_output_left_from_a_right_kernel_is_not_taken_for_an_answer(bench):
    """The fault target hands the same memory out again."""
    right, left_over = bench.measure_all([bench.ask(), bench.ask("writes_nothing")])
    assert right.costs
    assert left_over.failure.kind is FailureKind.WRONG_ANSWER
    assert "37 of 37" in left_over.failure.text


def test_an_innocent_candidate_is_not_blamed_for_spoilt_memory(bench):
    spoiler, innocent = bench.measure_all(
        [bench.ask("spoil_constant"), bench.ask("right_unless_spoilt")]
    )
    assert spoiler.costs
    assert innocent.costs


@pytest.mark.parametrize("launch", [1, 2])
def test_d19_an_answer_that_is_wrong_at_times_is_found_at_any_look(make_bench, launch):
    assert make_bench().measure(wrong_when_fresh=launch).failure.kind is FailureKind.WRONG_ANSWER


def test_d19_who_was_wrong_once_is_looked_at_longer(make_bench):
    """Threads that race may be right by chance when a fresh worker gives them another try."""
    bench = make_bench()
    assert bench.measure().costs
    racing = bench.measure(wrong_when_used=2, wrong_when_fresh=50)
    assert racing.failure.kind is FailureKind.WRONG_ANSWER


@pytest.mark.parametrize(
    "time",
    [[0], [-1.0], [1e-300], [1e300], [True], ["1e-3"], [None], [[1.0]], "nan", "inf", "a billion"],
)
def test_d17_a_time_that_cannot_be_is_an_invalid_result(bench, time):
    assert bench.measure(time=time).failure.kind is FailureKind.INVALID_RESULT


def test_an_exception_of_a_kernel_is_a_run_error_with_its_place(bench):
    failure = bench.measure("fail").failure
    assert failure.kind is FailureKind.RUN_ERROR
    assert "no such register" in failure.text
    assert "fault_target.py" in failure.text


def test_the_reference_is_computed_once_a_task_even_when_workers_crash(make_bench, tmp_path):
    log = tmp_path / "log"
    asked = {"attributes": {"reference_log": str(log)}}
    bench = make_bench()
    bench.measure(**asked)
    bench.measure("segfault", **asked)
    assert bench.measure(**asked).costs
    assert log.read_text() == "called\n"


def test_a_reference_that_raises_is_our_fault_not_the_candidates(bench, tmp_path):
    broken = {"reference_log": str(tmp_path)}  # a folder cannot be written to
    assert bench.measure(attributes=broken).failure.kind is FailureKind.INTERNAL


@pytest.mark.parametrize(("constants", "copies"), [("cold", -(-2000 // 148) + 1), ("warm", 1)])
def test_cold_copies_of_the_constants_fill_twice_the_cache_before_one_comes_again(
    bench, constants, copies
):
    conditions = Conditions(constants=constants)
    assert set(bench.measure(time="copies", conditions=conditions).costs) == {copies}


def test_every_part_of_a_trial_is_timed(make_bench):
    bench = make_bench()
    assert set(bench.measure().timings) == {"lower", "compile", "load", "check", "time"}
    assert set(bench.measure("writes_nan").timings) == {"lower", "compile", "load", "check"}
    assert set(bench.measure().timings) == {"load", "check", "time"}  # built before


def test_error_is_the_largest_difference_over_the_largest_value():
    expected = np.array([1.0, -100.0, 3.0])
    compare(expected + 0.9, expected, 0.01, "y")
    with pytest.raises(RefusedError, match=r"3 of 3 .* max\|a-b\|/max\|b\| is 0.011"):
        compare(expected + 1.1, expected, 0.01, "y")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_an_answer_that_is_not_finite_is_wrong_however_wide_the_bound(value):
    got = np.array([1.0, value], np.float32)
    with pytest.raises(RefusedError, match=r"first at \(1,\)"):
        compare(got, np.ones(2, np.float32), 1e30, "y")


def test_integers_are_compared_without_wrapping_round():
    with pytest.raises(RefusedError):
        compare(np.array([250], np.uint8), np.array([5], np.uint8), 0.5, "y")


def test_zeros_are_compared_absolutely():
    compare(np.full(3, 1e-7), np.zeros(3), 1e-6, "y")
    with pytest.raises(RefusedError):
        compare(np.full(3, 1e-5), np.zeros(3), 1e-6, "y")
