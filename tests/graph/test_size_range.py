"""Ranges of sizes: their text, and the buckets that serve every size without much padding."""

from __future__ import annotations

from itertools import pairwise

import ml_dtypes
import numpy as np
import pytest

from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.ranges.buckets import MOST_NETWORKS, make_buckets
from tilewright_graph.ranges.size_range import SizeRange


@pytest.mark.parametrize(("finely", "padding"), [(False, 1.25), (True, 1.125)])
@pytest.mark.parametrize(("least", "most"), [(1, 1), (1, 2), (1, 37), (5, 7), (9, 300), (17, 18)])
def test_a_bucket_is_little_above_the_least_size_that_it_serves(least, most, finely, padding):
    sizes = SizeRange(least, most).buckets(finely=finely)
    assert sizes[-1] == most
    assert all(one < other for one, other in pairwise(sizes))
    firsts = [least, *(size + 1 for size in sizes[:-1])]
    assert all(size <= padding * first for first, size in zip(firsts, sizes, strict=True))


def test_buckets_are_few_and_of_sizes_that_vectors_like():
    assert SizeRange(1, 32).buckets() == (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 28, 32)
    fine = SizeRange(5, 40).buckets(finely=True)
    assert fine == (5, 6, 7, 8, 10, 12, 14, 16, 18, 20, 22, 24, 28, 32, 36, 40)


@pytest.mark.parametrize(("text", "told"), [("7", "7"), (" 3..9", "3..9"), ("4..4", "4")])
def test_a_range_is_told_as_it_is_written(text, told):
    assert str(SizeRange.parse(text)) == told


@pytest.mark.parametrize("text", ["", "0", "0..4", "4..3", "1..", "-1", "1..2..3", "1.5", "9" * 12])
def test_what_is_no_range_of_sizes_is_refused(text):
    with pytest.raises(ValueError, match=r"expected a size from 1, or a range such as 1\.\.32"):
        SizeRange.parse(text)


def test_numbers_that_are_nan_at_every_size_depend_on_none(operators):
    def read(sizes):
        b, shape = NetworkBuilder("net"), (sizes["batch"], 2)
        x = b.input("x", shape, "bfloat16")
        return b.network([b.add(x, np.full(shape, np.nan, ml_dtypes.bfloat16))])

    range_ = SizeRange(1, 16)
    made = make_buckets({"batch": range_}, {"batch": {"x": [0]}}, read, operators)
    assert [*made.networks] == [(size,) for size in range_.buckets(finely=True)]


@pytest.mark.parametrize(("batch", "finely"), [(3, True), (8, False)])
def test_where_rows_meet_buckets_are_finer_unless_there_are_too_many(operators, batch, finely):
    def read(sizes):
        b = NetworkBuilder("net")
        return b.network([b.softmax(b.input("x", (sizes["batch"], sizes["length"])))])

    ranges = {"batch": SizeRange(1, batch), "length": SizeRange(1, 128)}
    axes = {"batch": {"x": [0]}, "length": {"x": [1]}}
    made = make_buckets(ranges, axes, read, operators)
    assert {sizes[0] for sizes in made.networks} == {*ranges["batch"].buckets()}
    assert {sizes[1] for sizes in made.networks} == {*ranges["length"].buckets(finely=finely)}
    assert len(made.networks) <= MOST_NETWORKS
