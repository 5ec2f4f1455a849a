"""A task that a worker has no memory for is refused before its first trial."""

from __future__ import annotations

import pytest

import tilewright
from tilewright.errors import UsageError

pytestmark = pytest.mark.needs("tensor", "x86", "search")


@pytest.mark.parametrize(
    "task",
    [
        "dense(1000x1000000, 700x1000000)",
        "add(32768x16384, 32768x16384)",
        "dense(100000x100000, 100000x100000)",
        "relu(32768x32768) + add(32768x32768)",
    ],
)
def test_a_task_that_does_not_fit_is_refused_before_anything_is_measured(task, tmp_path):
    records = tmp_path / "records.jsonl"
    with pytest.raises(UsageError, match=r"GiB, a worker may have|elements"):
        tilewright.tune(task, target="x86:threads=1", budget="20s", records=str(records))
    assert not records.exists() or not records.read_text()
