from __future__ import annotations

import pytest

from tilewright_pipeline.context.time_text import milliseconds_text, time_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (2.134e-10, "0.2134 ns"),
        (2.134e-7, "213.4 ns"),
        (1.5e-5, "15.00 us"),
        (0.0172083, "17.21 ms"),
        (-0.0172083, "-17.21 ms"),
        (9.9996e-3, "10.00 ms"),
        (1.0, "1.000 s"),
        (12345.6, "12346 s"),
        (float("inf"), "inf s"),
    ],
)
def test_a_time_has_four_digits_that_count_in_the_unit_that_suits_it(seconds, text):
    assert time_text(seconds) == text


def test_in_a_table_of_milliseconds_small_times_keep_their_digits():
    times = [milliseconds_text(seconds) for seconds in (2.134e-8, 4.007e-4, 0.0172083, 12.3456)]
    assert times == ["0.00002134", "0.4007", "17.21", "12346"]
