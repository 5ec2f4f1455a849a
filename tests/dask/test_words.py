"""What is said on the command line: cores, and a choice with its options."""

from __future__ import annotations

import os

import pytest

from tilewright.errors import UsageError
from tilewright_cli.terminal.choice_text import choice_of
from tilewright_dask.worker.cores import cores_text, parse_cores, split_cores


def test_cores_are_read_and_written():
    mine = sorted(os.sched_getaffinity(0))
    assert parse_cores(cores_text(mine)) == tuple(mine)
    assert cores_text([0, 1, 2, 5, 7, 8]) == "0-2,5,7-8"
    for text in ("", "a", "1-", "-1", "0;1"):
        with pytest.raises(UsageError, match="expected numbers of cores"):
            parse_cores(text)
    with pytest.raises(UsageError, match="this process may not use 9999"):
        parse_cores("9999")


def test_workers_share_the_cores_evenly():
    mine = sorted(os.sched_getaffinity(0))
    parts = split_cores(len(mine))
    assert [core for part in parts for core in part] == mine
    with pytest.raises(UsageError, match="each needs one of its own"):
        split_cores(len(mine) + 1)


def test_a_choice_with_options_is_one_word():
    found = choice_of("--runner", "dask:scheduler=tcp://127.0.0.1:8786,drift=0.3")
    assert found.name == "dask"
    assert found.options == {"scheduler": "tcp://127.0.0.1:8786", "drift": 0.3}
    assert choice_of("--runner", "local").options == {}
    for text in ("dask:scheduler", "dask:=3", ":a=1"):
        with pytest.raises(UsageError, match="--runner: expected a name"):
            choice_of("--runner", text)
