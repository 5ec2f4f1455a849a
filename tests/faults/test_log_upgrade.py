"""Logs of other systems and of earlier versions: every line is read, or counted as bad."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.json_object import UnknownLineError
from tilewright.vocabulary.record import Record
from tilewright_records.merging import merge_logs
from tilewright_records.readers import read_log
from tilewright_records.store.store import JsonlRecordStore

TESTS = Path(__file__).parents[1]
LOGS = {
    "x86/data/autotvm-v0.1-resnet18-llvm.jsonl": 21,
    "x86/data/autotvm-v0.1-resnet18-skylake.jsonl": 20,
    "cuda/data/autotvm-v0.1-resnet18-cuda.jsonl": 12,
    "x86/data/autotvm-v0.2-mobilenetv2.jsonl": 1,
    "x86/data/ansor-v0.5-mobilenetv2.jsonl": 1,
    "x86/data/tophub-llvm_v0.04.log": 35,
    "cuda/data/tophub-cuda-sample.log": 61,
}
"""Real ones, with how many trials each has; TopHub's begin with lines that are comments."""


@pytest.mark.parametrize(("name", "trials"), LOGS.items(), ids=LOGS)
def test_d38_every_line_of_a_real_log_is_read_or_of_what_is_not_known_here(name, trials):
    text = (TESTS / name).read_text().splitlines()
    found = [line for _, line in read_log(TESTS / name, PluginHost.load())]
    unknown = [line for line in found if isinstance(line, UnknownLineError)]
    assert all(isinstance(line, Record) for line in found if line not in unknown)
    assert all("there is no operator for the template" in str(line) for line in unknown)
    assert len(unknown) < trials // 10 + 1
    assert len(found) == trials == sum(not line.startswith("#") for line in text)


@pytest.mark.parametrize("name", LOGS)
def test_d38_what_is_bad_in_it_is_counted_and_costs_no_other_line(name, tmp_path):
    host, whole = PluginHost.load(), (TESTS / name).read_text().splitlines()
    log, into = tmp_path / "theirs.log", JsonlRecordStore(tmp_path / "ours.jsonl")
    log.write_text("\n".join([*whole, whole[-1][:90], whole[-1].replace(":", ";")]))
    alone = merge_logs([TESTS / name], JsonlRecordStore(tmp_path / "alone.jsonl"), host)
    done = merge_logs([log], into, host)
    assert (done.added, done.left_behind) == (alone.added, alone.left_behind + 2)
    assert into.bad_lines == 0 < done.added
