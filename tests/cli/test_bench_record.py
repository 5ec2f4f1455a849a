"""`tilewright bench record`: every config of a task, as a recorded space."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest

from tilewright.vocabulary.measure import Conditions, Trial
from tilewright_records.spaces.space_files import read_space
from tilewright_records.store.store import JsonlRecordStore

TASK = ("toyadd(64)", "hill", "--target", "toynative", "--runner", "toy", "--builder", "toy")


@pytest.fixture
def record(call):
    def invoke(*flags, task=TASK):
        return call("bench", "record", *task, *flags)

    return invoke


def test_every_config_is_measured_and_written(record, tmp_path):
    code, out, err = record("--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    space = read_space(tmp_path / "runs" / "recordings" / "hill.space.json")
    assert told["configs"] == len(space.results) == space.space.valid_count() == 128
    assert told["failures"] == 0
    assert told["best_seconds"] == pytest.approx(space.best_seconds, rel=1e-4)
    assert told["best_seconds"] == pytest.approx(64e-6 * 3)
    assert told["within_2_percent"] == space.count_within(2) == 2
    assert told["files"] == [
        "runs/recordings/hill.space.json",
        "runs/recordings/hill.records.jsonl.gz",
    ]
    assert (space.conditions.constants, space.conditions.repeat) == ("cold", 7)


def test_other_programs_are_told_how_far_it_is_and_quiet_prints_results_only(record, tmp_path):
    record("--keep", "width=3")
    code, out, err = record("--quiet", "--events", "events.jsonl")
    told = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    batches = [each for each in told if each["event"] == "batch_measured"]
    left = [each["left_trials"] for each in told if each["event"] == "batch_scheduled"]
    assert (code, err, out.splitlines()[0]) == (0, "", "configs   128, 0 failed")
    assert [told[0]["event"], told[-1]["event"]] == ["task_started", "task_finished"]
    assert sum(each["trials"] for each in batches) == 128 - 12
    assert left == list(range(128 - 12, 0, -16))
    assert told[-1]["best_seconds"] == pytest.approx(64e-6 * 3)


def test_a_knob_keeps_the_values_that_are_asked_for(record, tmp_path):
    assert record("--keep", "unroll=[1, 8]", "--keep", "width=3")[0] == 0
    space = read_space(tmp_path / "runs" / "recordings" / "hill.space.json")
    (alternative,) = space.space.alternatives
    kept = {knob.name: knob.values for knob in alternative.knobs}
    assert kept["unroll"] == (1, 8)
    assert len(kept["width"]) == 3
    assert len(space.results) == 6


def test_counting_measures_nothing(record, tmp_path):
    code, out, _ = record("--count", "--keep", "width=3")
    assert (code, out) == (0, "toyadd(64): 12 feasible of 12 points\n")
    assert not (tmp_path / "runs").exists()


def test_a_key_is_looked_up_in_the_runs(record, call):
    _, out, _ = call("tune", TASK[0], *TASK[2:], "--budget", "2", "--json")
    code, _, err = record("--count", task=(json.loads(out)["task"], "hill", *TASK[2:]))
    assert (code, err) == (0, "")


def test_it_goes_on_where_it_was_stopped(record, tmp_path):
    record("--keep", "width=3")
    before = len(
        list(JsonlRecordStore(tmp_path / "runs" / "recordings" / "hill.measured.jsonl").records())
    )
    code, out, _ = record()
    after = len(
        list(JsonlRecordStore(tmp_path / "runs" / "recordings" / "hill.measured.jsonl").records())
    )
    assert (code, before, after) == (0, 12, 128)
    assert "configs   128, 0 failed" in out


def test_of_several_passes_the_fastest_trial_of_each_config_counts(record, tmp_path):
    folder = tmp_path / "runs" / "recordings"
    record("--keep", "width=3")
    first = read_space(folder / "hill.space.json")
    seconds = {config: result.seconds for config, result in first.results.items()}
    close = {config for config, time in seconds.items() if time <= 2 * first.best_seconds}
    path = folder / "hill.measured.jsonl"
    last = max(seconds, key=seconds.__getitem__)
    assert 0 < len(close) < len(seconds)
    assert last not in close
    kept = list(JsonlRecordStore(path).records())
    (slowest,) = (one for one in kept if one.config == last)
    faster = replace(slowest.trial.result, costs=(seconds[last] / 1.25,) * 7)
    trial = Trial(slowest.trial.input, faster)
    JsonlRecordStore(path).append([replace(slowest, trial=trial), slowest])

    assert record("--keep", "width=3", "--passes", "2")[0] == 0
    times = Counter(one.config for one in JsonlRecordStore(path).records())
    assert times == {config: 2 if config in close else 1 for config in seconds} | {last: 3}
    second = read_space(folder / "hill.space.json")
    assert second.results[last].seconds == pytest.approx(seconds[last] / 1.25, rel=1e-4)


def test_a_further_pass_measures_nothing_outside_of_the_space(record, tmp_path):
    record()
    assert record("--keep", "width=3", "--passes", "2", "--events", "events.jsonl")[0] == 0
    folder = tmp_path / "runs" / "recordings"
    space = read_space(folder / "hill.space.json")
    times = Counter(
        one.config for one in JsonlRecordStore(folder / "hill.measured.jsonl").records()
    )
    again = {config for config, count in times.items() if count > 1}
    assert set() < again <= space.results.keys()
    told = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    left = [each["left_trials"] for each in told if each["event"] == "batch_scheduled"]
    assert left == [len(again)]


def test_records_of_other_conditions_do_not_count(record, tmp_path):
    record("--keep", "width=3")
    path = tmp_path / "runs" / "recordings" / "hill.measured.jsonl"
    store = JsonlRecordStore(path)
    kept = list(store.records())
    path.unlink()
    asked = [replace(r.trial.input, conditions=Conditions("warm", repeat=3)) for r in kept]
    trials = [Trial(i, r.trial.result) for i, r in zip(asked, kept, strict=True)]
    JsonlRecordStore(path).append(
        [replace(r, trial=trial) for r, trial in zip(kept, trials, strict=True)]
    )
    assert record("--keep", "width=3")[0] == 0
    assert len(list(JsonlRecordStore(path).records())) == 24


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--keep", "unrol=2"), "did you mean 'unroll'"),
        (("--keep", "unroll=x"), "expected a list of values or their number"),
        (("--keep", "unroll=0"), "expected a list of values or their number"),
        (("--keep", "unroll=[3]"), "expected 1 to 50000 feasible configs, got none"),
        (("--strategies", "moon"), "moon"),
    ],
)
def test_a_mistake_is_one_message_and_writes_nothing(record, tmp_path, flags, said):
    code, out, err = record(*flags)
    assert (code, out) == (2, "")
    assert said in err
    assert not (tmp_path / "runs").exists()


def test_records_of_another_device_or_revision_do_not_count(record, tmp_path, monkeypatch):
    record("--keep", "width=3")
    path = tmp_path / "runs" / "recordings" / "hill.measured.jsonl"
    kept = list(JsonlRecordStore(path).records())
    path.unlink()
    JsonlRecordStore(path).append([replace(one, fingerprint="f" * 16) for one in kept])
    assert record("--keep", "width=3")[0] == 0
    assert len(list(JsonlRecordStore(path).records())) == 2 * len(kept)
    monkeypatch.setenv("TOY_REVISION", "2")
    assert record("--keep", "width=3")[0] == 0
    assert len(list(JsonlRecordStore(path).records())) == 3 * len(kept)
