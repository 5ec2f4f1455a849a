"""The interval of the sign test."""

from __future__ import annotations

from math import comb, inf

import pytest

from tilewright_graph.finals.median_interval import MedianInterval


@pytest.mark.parametrize("confidence", [0.95, 0.99, 0.999])
@pytest.mark.parametrize("count", [1, 2, 9, 16, 33, 150, 401])
def test_the_true_median_is_outside_at_most_as_often_as_promised(count: int, confidence: float):
    """The exact count: so many of so few tosses of a coin fall on one side."""
    interval = MedianInterval.of(range(count), confidence)
    if interval.low == -inf:
        return
    below = interval.low  # as many differences are less than the lower end
    outside = 2 * sum(comb(count, k) for k in range(int(below) + 1)) / 2**count
    assert outside <= 1 - confidence
    assert interval.high == count - 1 - below


def test_few_differences_tell_nothing():
    assert MedianInterval.of([-3.0], 0.95) == MedianInterval(-3.0, -inf, inf)
    assert MedianInterval.of([-3.0] * 5, 0.99).high == inf


def test_many_equal_ones_leave_no_doubt():
    assert MedianInterval.of([-3.0] * 40, 0.999) == MedianInterval(-3.0, -3.0, -3.0)


def test_an_interrupt_moves_nothing():
    calm = [0.1 * n - 1 for n in range(60)]
    assert MedianInterval.of([*calm[:-1], 1e6], 0.95) == MedianInterval.of(calm, 0.95)
