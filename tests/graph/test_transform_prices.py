"""Transforms without a record are priced by lines through those that have one."""

from __future__ import annotations

import pytest

from tilewright.vocabulary.target import Target
from tilewright.vocabulary.workload import TensorSpec
from tilewright_graph.extraction.transforms import canonical_layout, same_bytes, transform_task
from tilewright_graph.selection.transform_prices import Line, TransformPrices, moved_bytes


def task(size, source, wanted):
    return transform_task(TensorSpec((1, 64, size, size)), source, wanted, Target("paper"))


def prices_of(measured):
    return TransformPrices(measured, lambda _: 99.0)


def line(task, start, per_byte):
    return task, start + per_byte * moved_bytes(task)


def test_a_family_has_its_own_start_and_slope():
    there = [line(task(n, "NCHW", "NCHW16c"), 1e-6, 1e-11) for n in (7, 14, 28)]
    back = [line(task(n, "NCHW16c", "NCHW"), 3e-6, 5e-11) for n in (7, 14, 28)]
    prices = prices_of([*there, *back])
    for asked, expected in (
        line(task(56, "NCHW", "NCHW16c"), 1e-6, 1e-11),
        line(task(56, "NCHW16c", "NCHW"), 3e-6, 5e-11),
    ):
        assert prices(asked) == pytest.approx(expected)


def test_a_family_without_two_sizes_is_priced_by_its_kin_then_by_all():
    known = [line(task(n, "NCHW", "NCHW16c"), 1e-6, 1e-11) for n in (7, 14)]
    prices = prices_of([*known, (task(7, "NCHW", "NCHW8c"), 1.0)])
    kin = prices_of(known)(task(56, "NCHW", "NCHW32c"))
    assert kin == pytest.approx(line(task(56, "NCHW", "NCHW16c"), 1e-6, 1e-11)[1])
    assert prices(task(56, "NHWC", "NCHW")) != 99.0
    assert prices_of(known)(task(56, "NHWC", "NCHW")) == pytest.approx(kin)


def test_without_records_the_estimate_answers():
    assert prices_of([])(task(7, "NCHW", "NHWC")) == 99.0
    assert prices_of([(task(7, "NCHW", "NHWC"), 1e-6)])(task(7, "NCHW", "NHWC")) == 99.0


def test_no_price_is_negative():
    falling = Line.fit([(1000, 5e-6), (9000, 1e-6)])
    steep = Line.fit([(1000, 1e-9), (9000, 1e-6)])
    assert falling is not None
    assert steep is not None
    assert falling.per_byte == 0
    assert steep.start == 0
    assert min(falling(0), falling(10**9), steep(0), steep(10**9)) >= 0


@pytest.mark.parametrize(
    ("shape", "text", "name"),
    [
        ((1, 64, 1, 1), "NCHW16c", "NCHW"),
        ((1, 64, 1, 1), "NHWC", "NCHW"),
        ((1, 16, 7, 7), "NCHW16c", "NHWC"),
        ((1, 16, 7, 7), "NHWC", "NHWC"),
        ((1, 32, 7, 7), "NCHW16c", "NCHW16c"),
        ((1, 1, 7, 7), "NHWC", "NCHW"),
        ((2, 32), "NC16c", "NC"),
        ((1, 32), "NC16c", "NC"),
        ((1, 30, 7, 7), "NCHW32c", "NCHW32c"),
        ((1, 32, 7, 7), "N4cCHW", "N4cCHW"),
        ((1, 4, 7, 7), "N4cCHW", "NCHW"),
    ],
)
def test_layouts_that_are_the_same_memory_have_one_name(shape, text, name):
    spec = TensorSpec(shape)
    assert canonical_layout(spec, text) == name
    assert same_bytes(spec, text, name)
