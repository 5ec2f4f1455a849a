"""The test that says whether a difference is noise, against every arrangement there is."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from tilewright_pipeline.measuring.significance import mann_whitney


def u_of(first, second):
    return sum((a > b) + (a == b) / 2 for a in first for b in second)


def by_all_arrangements(first, second):
    """Twice the share of arrangements that are as extreme, on the side of what was seen."""
    both, size = [*first, *second], len(first)
    seen = min(u_of(first, second), size * len(second) - u_of(first, second))
    chosen = list(itertools.combinations(range(len(both)), size))
    extreme = 0
    for places in chosen:
        one = [both[place] for place in places]
        other = [both[place] for place in range(len(both)) if place not in places]
        extreme += u_of(one, other) <= seen
    return min(1.0, 2 * extreme / len(chosen))


@pytest.mark.parametrize("sizes", [(3, 3), (3, 7), (5, 5), (6, 4)])
@pytest.mark.parametrize("shift", [0.0, 0.4, 2.0])
def test_small_samples_are_told_exactly(sizes, shift):
    drawn = random.Random(f"{sizes}{shift}")
    first = [drawn.random() for _ in range(sizes[0])]
    second = [drawn.random() + shift for _ in range(sizes[1])]
    assert mann_whitney(first, second) == pytest.approx(by_all_arrangements(first, second))
    assert mann_whitney(first, second) == pytest.approx(mann_whitney(second, first))


def test_ties_are_corrected_for():
    first, second = [1, 1, 2, 2, 3, 3] * 4, [2, 2, 3, 3, 4, 4] * 4
    ties = [8, 16, 16, 8]
    n = len(first)
    spread = (2 * n + 1) - sum(t**3 - t for t in ties) / (2 * n * (2 * n - 1))
    z = (abs(u_of(first, second) - n * n / 2) - 0.5) / math.sqrt(n * n / 12 * spread)
    assert mann_whitney(first, second) == pytest.approx(math.erfc(z / math.sqrt(2)))


def test_equal_samples_do_not_differ_and_few_say_nothing():
    assert mann_whitney([1.0] * 5, [1.0] * 5) == 1.0
    assert mann_whitney([1, 2], [3, 4, 5]) is None


def test_of_equal_distributions_a_twentieth_seems_to_differ():
    drawn = random.Random(1)
    found = [
        mann_whitney([drawn.gauss(0, 1) for _ in range(30)], [drawn.gauss(0, 1) for _ in range(30)])
        for _ in range(600)
    ]
    assert 0.02 < sum(p < 0.05 for p in found) / len(found) < 0.08


def test_mann_whitney_is_that_of_scipy():
    scipy = pytest.importorskip("scipy.stats")
    chance = random.Random(0)
    for _ in range(20):
        first = [chance.choice([1, 2, 5, 9, math.inf]) for _ in range(chance.randint(8, 30))]
        second = [chance.choice([1, 2, 7, 9, math.inf]) for _ in range(chance.randint(8, 30))]
        known = scipy.mannwhitneyu(first, second, method="asymptotic").pvalue
        assert mann_whitney(first, second) == pytest.approx(known)
    assert mann_whitney([3.0] * 9, [3.0] * 9) == 1.0
