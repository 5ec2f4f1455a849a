"""`number`, `repeat`, `min_repeat_ms` and racing, against a clock that is a list of calls."""

from __future__ import annotations

import math

import pytest

from tilewright.vocabulary.measure import Conditions
from tilewright_measure.timing.timing import take_samples
from tilewright_measure.worker.failures import RefusedError


class Kernel:
    def __init__(self, *seconds: float) -> None:
        self.seconds = seconds
        self.numbers: list[int] = []

    def time(self, number: int) -> float:
        seconds = self.seconds[min(len(self.numbers), len(self.seconds) - 1)]
        self.numbers.append(number)
        return number * seconds


def _conditions(number=1, repeat=5, min_repeat_ms=2.0):
    return Conditions(number=number, repeat=repeat, min_repeat_ms=min_repeat_ms)


def test_number_grows_until_a_sample_lasts_long_enough():
    kernel = Kernel(30e-6)
    samples = take_samples(kernel.time, _conditions(), first_seconds=1e-4)
    assert samples.seconds == pytest.approx([30e-6] * 5)
    assert kernel.numbers == [1] + [67] * 5


def test_a_short_sample_is_taken_again_and_number_stays_grown():
    kernel = Kernel(1e-3, 0.4e-3, 0.4e-3)
    assert len(take_samples(kernel.time, _conditions(), first_seconds=1e-3).seconds) == 5
    assert kernel.numbers == [1, 2, 6, 6, 6, 6, 6]


def test_number_is_never_lowered():
    kernel = Kernel(2e-3)
    take_samples(kernel.time, _conditions(number=7, repeat=3), first_seconds=2e-3)
    assert kernel.numbers == [7, 7, 7]


def test_min_repeat_zero_takes_number_as_it_is():
    kernel = Kernel(1e-6)
    take_samples(kernel.time, _conditions(number=10, min_repeat_ms=0.0), first_seconds=1e-6)
    assert kernel.numbers == [10] * 5


def test_a_clearly_slower_candidate_is_cut_short_at_three_samples():
    kernel = Kernel(16e-3)
    samples = take_samples(kernel.time, _conditions(repeat=9), 16e-3, hopeless_seconds=15e-3)
    assert (len(samples.seconds), samples.lost) == (3, True)


def test_one_fast_sample_keeps_a_candidate_in_the_race():
    kernel = Kernel(16e-3, 14e-3, 16e-3)
    samples = take_samples(kernel.time, _conditions(repeat=9), 16e-3, hopeless_seconds=15e-3)
    assert (len(samples.seconds), samples.lost) == (9, False)


def test_a_candidate_that_takes_far_too_long_is_cut_short_at_once():
    kernel = Kernel(21e-3)
    samples = take_samples(kernel.time, _conditions(repeat=9), 21e-3, hopeless_seconds=15e-3)
    assert (len(samples.seconds), samples.lost) == (1, True)


def test_one_slow_sample_behind_a_fast_call_is_the_machines_fault():
    kernel = Kernel(21e-3, 14e-3)
    samples = take_samples(kernel.time, _conditions(repeat=9), 14e-3, hopeless_seconds=15e-3)
    assert (len(samples.seconds), samples.lost) == (9, False)


@pytest.mark.parametrize(
    ("seconds", "repeat", "min_repeat_ms", "count"),
    [(9e-3, 5, 1, 5), (18e-3, 5, 1, 3), (26e-3, 5, 1, 2), (1.0, 5, 1, 2), (26e-3, 9, 1, 4),
     (26e-3, 5, 20, 5), (26e-3, 5, 0, 2)],
)  # fmt: skip
def test_of_a_long_kernel_fewer_samples_are_enough(seconds, repeat, min_repeat_ms, count):
    kernel = Kernel(seconds)
    samples = take_samples(kernel.time, _conditions(1, repeat, min_repeat_ms), seconds)
    assert (samples.seconds, samples.lost) == ([seconds] * count, False)


def test_two_long_samples_are_enough_to_lose():
    kernel = Kernel(60e-3)
    samples = take_samples(kernel.time, _conditions(min_repeat_ms=1), 49e-3, hopeless_seconds=50e-3)
    assert (len(samples.seconds), samples.lost) == (2, True)


def test_a_call_that_is_far_too_long_is_the_only_sample():
    kernel = Kernel(0.22)
    samples = take_samples(kernel.time, _conditions(), 0.21, 0.075, untimed_seconds=0.2)
    assert (samples.seconds, samples.lost) == ([0.21], True)
    assert kernel.numbers == []


def test_fewer_than_three_samples_are_taken_where_fewer_are_asked_for():
    assert len(take_samples(Kernel(1.0).time, _conditions(repeat=1), 1.0, 0.5).seconds) == 1


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, 1e-300, 1e300, True, "1", None])
def test_absurd_times_are_refused(value):
    with pytest.raises(RefusedError, match="no time in seconds"):
        take_samples(lambda number: value, _conditions(), first_seconds=1e-3)


def test_a_coarse_clock_ends_all_the_same():
    calls = []

    def timed(number):
        calls.append(number)
        return max(1e-6, round(number * 1e-8, 6))  # ticks of a microsecond

    assert len(take_samples(timed, _conditions(), first_seconds=1e-6).seconds) == 5
    assert len(calls) < 20


def test_racing_compares_with_the_best_of_the_same_task_and_conditions(make_bench):
    bench = make_bench(runner={"racing": 1.5})
    times = [1e-3, 1.4e-3, 1.6e-3]
    counts = [len(bench.measure(time=seconds).costs) for seconds in times]
    assert counts == [5, 5, 3]
    warm = Conditions(constants="warm", min_repeat_ms=0.5)
    assert len(bench.measure(time=1.6e-3, conditions=warm).costs) == 5
    in_turns = Conditions(min_repeat_ms=0.5, turns=3)
    assert len(bench.measure(time=1.6e-3, conditions=in_turns).costs) == 5
    assert len(bench.measure(time=1.6e-3, shape=(38,)).costs) == 5
