"""Keys are promises: records and history packs are found by them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tilewright.workload import Workload

# Text form -> key. Change an entry only with a new version of the record format.
GOLDEN = json.loads((Path(__file__).parent / "golden_keys.json").read_text())


def test_keys_never_change(workload: Callable[[str], Workload]) -> None:
    assert {text: workload(text).key for text in GOLDEN} == GOLDEN


def test_anchor_keys_leave_the_epilogue_out(workload: Callable[[str], Workload]) -> None:
    for text in GOLDEN:
        assert workload(text).anchor_key == workload(text.partition(" + ")[0]).key
