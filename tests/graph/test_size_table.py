"""Which sizes run as which buckets, by what was measured of these."""

from __future__ import annotations

from tilewright_graph.compiled.size_table import size_table, table_text
from tilewright_graph.ranges.dimension import Dimension
from tilewright_graph.ranges.dimensions import Dimensions
from tilewright_graph.ranges.size_range import SizeRange


def table(seconds, *, of_least=(), least=1, independent=True):
    dimension = Dimension("batch", SizeRange(least, max(seconds)), {}, independent)
    dimensions = Dimensions((dimension,))
    times = ({(size,): cost for size, cost in each.items()} for each in (seconds, dict(of_least)))
    rows = size_table(dimensions, *times)
    found = [(str(*row.sizes), tuple(run for (run,) in row.runs)) for row in rows]
    return found, table_text(dimensions, rows)


def test_what_one_more_run_costs_makes_small_networks_be_padded():
    found, text = table({1: 2e-6, 2: 3e-6, 4: 5e-6, 7: 9e-6})
    assert found == [("1", (1,)), ("2", (2,)), ("3..4", (4,)), ("5..7", (7,))]
    assert text.splitlines()[:2] == ["batch  runs as  ms", "1      1        0.002000"]


def test_a_small_network_runs_twice_where_its_next_bucket_is_slow():
    found, _ = table({1: 9e-6, 3: 1.2e-5, 8: 2.3e-5, 12: 7.9e-5}, least=9)
    assert [(sizes, sorted(runs)) for sizes, runs in found] == [
        ("9", [1, 8]), ("10..11", [3, 8]), ("12", [8, 8]),
    ]  # fmt: skip


def test_where_time_grows_with_the_rows_a_size_runs_as_several():
    found, text = table({1: 0.011, 2: 0.02, 4: 0.04, 6: 0.06, 8: 0.08}, least=3)
    assert [(sizes, sorted(runs)) for sizes, runs in found] == [
        ("3", [1, 2]), ("4", [4]), ("5", [1, 4]), ("6", [6]), ("7", [1, 6]), ("8", [8]),
    ]  # fmt: skip
    assert " + " in text


def test_a_larger_bucket_serves_where_it_is_faster_for_certain():
    assert table({1: 1e-5, 2: 5e-5, 3: 3e-5})[0] == [("1", (1,)), ("2..3", (3,))]
    assert table({2: 3.1e-5, 3: 3e-5})[0] == [("1..2", (2,)), ("3", (3,))]


def test_where_rows_are_left_out_time_grows_with_the_size_and_nothing_runs_as_several():
    seconds = {1: 0.011, 4: 0.04, 8: 0.08}
    whole = table(seconds, least=3)[0]
    assert max(len(runs) for _, runs in whole) > 1
    found, text = table(seconds, of_least={4: 0.013, 8: 0.014}, least=1)
    assert found == [("1", (1,)), ("2..4", (4,)), ("5..8", (8,))]
    assert text.splitlines()[2].split() == ["2..4", "4", "40.00"]


def test_the_time_that_is_told_is_that_of_the_largest_size_in_a_bucket_that_leaves_out_rows():
    found, text = table({2: 0.9, 3: 1.0, 5: 0.5}, of_least={5: 0.1})
    assert found == [("1..5", (5,))]
    assert text.splitlines()[1].split() == ["1..5", "5", "500.0"]


def test_a_larger_bucket_of_the_other_dimension_serves_where_it_is_faster():
    batch = Dimension("batch", SizeRange(4, 4), {}, independent=True)
    sequence = Dimension("sequence", SizeRange(5, 10), {}, independent=True)
    seconds = {(4, 6): 0.5, (4, 10): 0.4}
    (first, second) = size_table(Dimensions((batch, sequence)), seconds)
    assert [str(row.sizes[1]) for row in (first, second)] == ["5..6", "7..10"]
    assert first.runs == second.runs == ((4, 10),)


def test_of_two_dimensions_a_row_has_a_range_of_each_and_one_of_them_is_divided():
    batch = Dimension("batch", SizeRange(1, 4), {}, independent=True)
    sequence = Dimension("sequence", SizeRange(5, 10), {}, independent=True)
    seconds = {(1, 6): 0.1, (4, 6): 0.2, (1, 10): 0.1, (4, 10): 1.0}
    rows = size_table(Dimensions((batch, sequence)), seconds)
    assert table_text(Dimensions((batch, sequence)), rows[:-3]).splitlines() == [
        "batch  sequence  runs as  ms",
        "1      5..6      1x6      100.0",
        "2..4   5..6      4x6      200.0",
        "1      7..10     1x10     100.0",
    ]
    assert [str(row.sizes[0]) for row in rows[-3:]] == ["2", "3", "4"]
    assert [row.runs for row in rows[-3:]] == [((1, 10),) * times for times in (2, 3, 4)]


def test_the_first_dimension_whose_rows_do_not_meet_is_divided():
    meeting = Dimension("sequence", SizeRange(2, 3), {}, independent=False)
    batch = Dimension("batch", SizeRange(1, 3), {}, independent=True)
    seconds = {(2, 1): 0.1, (2, 3): 1.0, (3, 1): 1.0, (3, 3): 1.1}
    rows = size_table(Dimensions((meeting, batch)), seconds)
    assert [(*map(str, row.sizes), len(row.runs)) for row in rows] == [
        ("2", "1", 1), ("2", "2", 2), ("2", "3", 3), ("3", "1", 1), ("3", "2..3", 1),
    ]  # fmt: skip


def test_where_rows_meet_every_size_runs_as_itself():
    seconds = {4: 1.0, 5: 9.0, 6: 2.0}
    assert table(seconds, least=4, independent=False)[0] == [("4", (4,)), ("5", (5,)), ("6", (6,))]
