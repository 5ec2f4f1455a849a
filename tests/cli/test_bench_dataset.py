"""`tilewright bench dataset`: trials of many workloads, for cost models to learn from."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from dataclasses import replace

import pytest
from toy_tasks import entry

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.config import ConfigEntity
from tilewright_cli.bench.dataset_device import read_device
from tilewright_cli.bench.workloads import Entry, Workloads, others_around
from tilewright_records.store.store import JsonlRecordStore

SIZES = (8, 16, 24)


@pytest.fixture
def dataset(call, tmp_path):
    """A function that measures the toy's workloads: what it told, and the trials in order."""
    (tmp_path / "data").mkdir()
    workloads = Workloads()
    workloads.add([entry(size, networks={"net": 2.0}) for size in SIZES], 0, None, 0)
    workloads.write(tmp_path / "data" / "tasks.json")

    def measure(*flags):
        parts = ("--target", "toynative", "--runner", "toy", "--builder", "toy", "--json")
        code, out, err = call("bench", "dataset", "data", *parts, *flags)
        assert (code, err) == (0, "")
        store = JsonlRecordStore(tmp_path / "data" / "records.jsonl")
        return json.loads(out), list(store.records())

    return measure


def test_every_workload_is_measured_in_turn(dataset):
    told, records = dataset("--configs", "21")
    assert told == {"workloads": 3, "trials": 63, "new": 63}
    assert set(Counter(record.task for record in records).values()) == {21}
    assert len({(record.task, record.config) for record in records}) == 63
    # First what the strategy advises of each; no workload is ahead of another by over a turn.
    advised = ConfigEntity("toy.loop", {"unroll": 1, "width": 1})
    assert [record.config for record in records[:6]].count(advised) == 3
    seen = Counter()
    for record in records:
        seen[record.task] += 1
        assert max(seen.values()) - min(seen[task] for task in seen) <= 8


def test_it_goes_on_where_it_was_stopped(dataset):
    dataset("--configs", "10")
    told, records = dataset("--configs", "13")
    assert told == {"workloads": 3, "trials": 39, "new": 9}
    assert len({(record.task, record.config) for record in records}) == 39
    assert dataset("--configs", "13")[0]["new"] == 0


def test_all_is_measured_twice_and_then_what_may_be_the_fastest(dataset):
    _, once = dataset("--configs", "16")
    told, records = dataset("--configs", "16", "--passes", "4")
    again = records[len(once) :]
    assert records[: len(once)] == once  # nothing is drawn anew
    assert told == {"workloads": 3, "trials": len(records), "new": len(again)}
    # All workloads once before any of them again.
    second = Counter((one.task, one.config) for one in again[: len(once)])
    assert second == Counter((one.task, one.config) for one in once)
    times = Counter((record.task, record.config) for record in records)
    for task in {record.task for record in once}:
        own = [record for record in once if record.task == task]
        close = [one for one in own if one.seconds <= 2 * min(other.seconds for other in own)]
        assert 1 <= len(close) < len(own)
        for record in own:
            assert times[task, record.config] == (4 if record in close else 2)
    assert dataset("--configs", "16", "--passes", "4")[0]["new"] == 0


def test_half_of_the_trials_are_beside_the_fastest(dataset):
    _, records = dataset("--configs", "64")
    own = [record for record in records if record.task == records[0].task]
    late = sorted(record.seconds for record in own[32:])
    early = sorted(record.seconds for record in own[2:10])
    assert late[len(late) // 4] < early[len(early) // 2]


def test_a_folder_says_what_it_was_measured_on(dataset, call, tmp_path):
    dataset("--configs", "2")
    file = tmp_path / "data" / "device.json"
    kept = read_device(file.parent)
    assert (kept.name, kept.attributes["model"]) == ("toy0", "toy0")
    another = {**kept.to_json(), "attributes": {"model": "another"}}
    for wrong, told in (
        (json.dumps(another), "data: it has trials of another device"),
        (json.dumps({**another, "attributes": {"model": float("nan")}}), "no device of a data set"),
        ("[" * 100_000, "no device of a data set"),
        ("[]", "no device of a data set"),
    ):
        file.write_text(wrong)
        code, _, err = call("bench", "dataset", "data", "--target", "toynative")
        assert (code, told in err) == (2, True)


def test_trials_of_a_folder_that_tells_no_device_are_of_this_one(dataset, call, tmp_path):
    dataset("--configs", "2")
    (tmp_path / "data" / "device.json").unlink()
    assert dataset("--configs", "2")[0]["new"] == 0
    log = tmp_path / "data" / "records.jsonl"
    store = JsonlRecordStore(tmp_path / "data" / "other.jsonl")
    store.append(
        [replace(record, fingerprint="f" * 16) for record in JsonlRecordStore(log).records()]
    )
    store.path.replace(log)
    tasks = (tmp_path / "data" / "tasks.json").read_bytes()
    code, _, err = call("bench", "dataset", "data", "toyadd(48)", "--target", "toynative")
    assert (code, "data: it has trials of another device" in err) == (2, True)
    assert (tmp_path / "data" / "tasks.json").read_bytes() == tasks


def test_a_folder_without_workloads_is_a_mistake(call):
    code, _, err = call("bench", "dataset", "empty", "--target", "toynative")
    assert (code, "no workload" in err) == (2, True)


def test_a_file_that_is_none_is_a_mistake(call, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "tasks.json").write_text('{"tasks": [{}]}')
    code, _, err = call("bench", "dataset", "data", "--target", "toynative")
    assert (code, "no workloads of a data set" in err) == (2, True)


def test_workloads_are_made_around_those_of_a_network():
    host = PluginHost.load()
    reference = host.reference("conv2d")
    own = reference.parse("(1x24x19x19, 24x1x3x3, padding=1, groups=24) + relu()", "")
    found = others_around(own, 5, host, seed=1)
    assert len({each.key for each in found} | {own.key}) == 6
    for each in found:
        assert each.operator == "conv2d"
        # What is one size in the workload is one size in those around it.
        channels = each.inputs[0].shape[1]
        assert each.attributes["groups"] == each.inputs[1].shape[0] == channels
        assert each.epilogue == own.epilogue
    assert found == others_around(own, 5, host, seed=1)
    assert found != others_around(own, 5, host, seed=2)


def test_a_workload_remembers_the_networks_it_is_of(tmp_path):
    host = PluginHost.load()
    of_two = Workloads()
    of_two.add([entry(8, networks={"a": 1.0})], 0, host, 0)
    of_two.add([entry(8, networks={"b": 3.0})], 0, host, 0)
    of_two.write(tmp_path / "tasks.json")
    (kept,) = Workloads.read(tmp_path / "tasks.json")
    assert kept.networks == {"a": 1.0, "b": 3.0}
    assert kept.workload == entry(8).task.workload


def test_another_folders_configs_are_measured_before_random_ones(dataset, call, tmp_path):
    _, there = dataset("--configs", "12", "--seed", "7")
    packed = gzip.compress((tmp_path / "data" / "records.jsonl").read_bytes())
    (tmp_path / "data" / "records.jsonl.gz").write_bytes(packed)
    (tmp_path / "data" / "records.jsonl").unlink()
    parts = ("--target", "toynative", "--runner", "toy", "--builder", "toy", "--json")
    code, out, err = call(
        "bench", "dataset", "here", "--like", "data", *parts, "--configs", "14", "--seed", "3"
    )
    assert (code, err, json.loads(out)["workloads"]) == (0, "", 3)
    assert (tmp_path / "here" / "tasks.json").exists()
    here = JsonlRecordStore(tmp_path / "here" / "records.jsonl").records()
    theirs, ours = defaultdict(list), defaultdict(list)
    for into, records in ((theirs, there), (ours, here)):
        for record in records:
            into[record.task].append(record.config)
    for task, configs in theirs.items():
        assert ours[task][:12] == configs
        assert len(set(ours[task])) == 14


def test_a_workload_is_of_the_networks_of_every_folder_that_has_it():
    task = entry(8).task.workload
    (both,) = Workloads([Entry(task, {"a": 2.0}), Entry(task, near="made of")])
    assert (both.networks, both.near) == ({"a": 2.0}, "")
    (both,) = Workloads([Entry(task, {"a": 2.0}), Entry(task, {"b": 1.0})])
    assert both.networks == {"a": 2.0, "b": 1.0}


@pytest.mark.parametrize("content", ["[" * 100_000, '{"tasks": [{"workload": 1}]}'])
def test_what_is_no_list_of_workloads_is_told(tmp_path, content):
    (tmp_path / "tasks.json").write_text(content)
    with pytest.raises(UsageError, match="no workloads of a data set"):
        Workloads.read(tmp_path / "tasks.json")


def test_a_folder_to_be_like_that_is_none_is_a_mistake(call, tmp_path):
    code, _, err = call("bench", "dataset", "here", "--like", "none", "--target", "toynative")
    assert (code, "none/tasks.json: no workloads of a data set" in err) == (2, True)
