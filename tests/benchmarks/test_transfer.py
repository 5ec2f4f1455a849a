"""What the best configs of one machine reach on another, of recorded spaces."""

from __future__ import annotations

import pytest

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.measure import Conditions, MeasureResult
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.workload import Workload
from tilewright_records.spaces.recorded_space import RecordedSpace


def space(name, times, workload="one", device=None):
    results = {
        ConfigEntity("s", {"knob": knob}): MeasureResult((seconds,))
        for knob, seconds in times.items()
    }
    task = Task(Workload(workload, ()), Target("toy"))
    return RecordedSpace(name, task, None, Conditions(), results, device or name)


@pytest.mark.needs("records", "search", "cli")
def test_the_share_is_of_the_others_whole_space_and_configs_that_it_lacks_are_passed_over(module):
    here = space("here", {1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0})
    there = space("there", {2: 8.0, 3: 5.0, 4: 10.0, 5: 4.0})
    other = space("other", {2: 1.0}, workload="another")
    again = space("again", {2: 1.0}, device="here")
    first, second, *_ = rows = list(module("transfer").transfers([here, there, other], (2,)))
    assert [row.case for row in rows] == ["here on there", "there on here"]
    assert (first.ours, second.ours) == (50.0, 33.3)
    assert dict(first.details) == {
        "best of 2 in %": 80.0, "best of all common in %": 80.0, "common configs": 3,
    }  # fmt: skip
    assert not list(module("transfer").transfers([here, again, other], (2,)))
