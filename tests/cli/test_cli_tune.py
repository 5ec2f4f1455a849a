"""`tilewright tune`: every way to name a task, every flag, and the members of its answer."""

from __future__ import annotations

import json

import pytest

from tilewright_cli.terminal.group import run
from tilewright_records.store.store import JsonlRecordStore

IDLE = """
from tilewright.plugins.plugin import Component, hookimpl


@hookimpl
def tilewright_task_schedulers():
    return [Component("idle", "asks for nothing", lambda: lambda options, host: Idle())]


class Idle:
    def next_task(self, states):
        return None
"""
PARTS = ("--runner", "toy", "--builder", "toy", "--scheduler", "toy")


@pytest.fixture
def tune(call):
    """A function that tunes on the toy target: (exit code, stdout, stderr)."""

    def invoke(task, *flags, target="toynative"):
        named = ("--target", target) if target else ()
        return call("tune", task, *named, "--tuner", "toy", *PARTS, *flags)

    return invoke


@pytest.fixture
def records(tmp_path):
    """A function that reads a records file of the test's folder."""
    return lambda name="runs/tune/records.jsonl": JsonlRecordStore(tmp_path / name).records()


def test_the_answer_is_one_object_with_these_members(tune):
    code, out, _ = tune("toyadd(64)", "--budget", "200", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["task"] == "toyadd(64)"
    # All 128 points, and the best of them once more.
    assert (found["trials"], found["failures"]) == (132, 0)
    assert found["seconds"] > 0
    assert found["trials_per_second"] == pytest.approx(132 / found["seconds"])
    assert found["best_seconds"] == pytest.approx(64e-6 * 3)
    assert found["gflops"] == pytest.approx(64 / (64e-6 * 3) / 1e9)
    assert found["peak_share"] == pytest.approx(64 / (64e-6 * 3) / 1e9)
    assert found["strategy"] == "toy.loop"
    assert found["config"] == {"strategy": "toy.loop", "values": {"unroll": 8, "width": 32}}
    assert found["split"]["search"] > 0
    assert found["ended"] == "exhausted"


def test_without_json_the_same_is_told_to_people(tune):
    _, out, _ = tune("toyadd(64)", "--budget", "200")
    shown = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert shown["task"] == "toyadd(64)"
    assert shown["best"] == "192.0 us, 0.0 GFLOP/s, 0% of peak"
    assert shown["config"] == "toy.loop {'unroll': 8, 'width': 32}"
    assert shown["trials"].startswith("132, 0 failed, in ")
    assert shown["records"] == "runs/tune/records.jsonl"
    assert out.splitlines()[-1] == "It ended before its budget: the tuner proposes nothing new."


@pytest.mark.parametrize(
    ("flags", "reason", "said"),
    [
        (("--budget", "7"), "budget", "records "),
        (("--early-stopping", "1"), "early_stopping", "It ended before its budget: nothing impr"),
        (("--runner", "{toy: {fails: all}}"), "dead", "It ended before its budget: no trial"),
        (("--runner", "{toy: {lost_after: 0}}"), "device_lost", "records "),
        (("--runner", "{toy: {lost_after: 0, killed: true}}"), "workers_lost", "records "),
        (
            ("--scheduler", "idle", "--plugin", "idle.py"),
            "finished",
            "It ended before its budget: the sched",
        ),
    ],
)
def test_why_it_went_no_further_is_told_where_budget_was_left(tune, tmp_path, flags, reason, said):
    (tmp_path / "idle.py").write_text(IDLE)
    flags = ("--budget", "1000", *flags)
    assert tune("toyadd(8)", *flags)[1].splitlines()[-1].startswith(said)
    (tmp_path / "runs/tune/records.jsonl").unlink()
    assert json.loads(tune("toyadd(8)", *flags, "--json")[1])["ended"] == reason


def test_asked_for_again_it_says_that_nothing_was_measured(tune):
    flags = ("--budget", "7")
    assert json.loads(tune("toyadd(8)", *flags, "--json")[1])["skipped"] is False
    assert "Nothing was measured" in tune("toyadd(8)", *flags)[1]
    again = json.loads(tune("toyadd(8)", *flags, "--json")[1])
    assert (again["skipped"], again["trials"], again["ended"]) == (True, 0, None)


def test_a_task_is_a_text_a_key_with_records_or_a_file(tune, records, tmp_path):
    flags = ("--budget", "3", "--json", "--records", "own.jsonl")
    assert json.loads(tune("toyadd(64)", *flags)[1])["task"] == "toyadd(64)"
    workload = records("own.jsonl")[0].task.workload
    assert json.loads(tune(workload.key, *flags)[1])["task"] == "toyadd(64)"
    (tmp_path / "w.json").write_text(json.dumps(workload.to_json()))
    assert json.loads(tune("w.json", *flags)[1])["task"] == "toyadd(64)"
    code, _, err = tune(workload.key, "--records", "other.jsonl")
    assert (code, "no record has the key" in err) == (2, True)


def test_a_key_is_tuned_on_the_target_that_it_names(tune, records):
    flags = ("--json", "--budget")
    tune("toyadd(64)", *flags, "2", target="toy:threads=2")
    (named, *_) = {record.task.key for record in records()}
    assert named.endswith("@toy:threads=2")
    tune("toyadd(64)", *flags, "2")
    for task, target in ((named, None), (named, "toy:threads=2")):
        known = len(records())
        assert tune(task, *flags, str(known), target=target)[0] == 0
        assert {record.task.key for record in records()[known:]} == {named}
    code, out, err = tune(named, target="toy:threads=3")
    assert (code, out) == (2, "")
    assert "names the target toy:threads=2, but asked for is toy:threads=3" in err


def test_a_key_or_a_file_that_names_no_target_takes_the_one_it_was_found_with(
    tune, records, tmp_path
):
    tune("toyadd(64)", "--budget", "2", target="toy:threads=2")
    task = records()[0].task
    (tmp_path / "t.json").write_text(
        json.dumps({"target": "toy:threads=3", **task.workload.to_json()})
    )
    tune(task.workload.key, "--budget", "3", target=None)
    tune("t.json", "--budget", "2", target=None)
    tune("t.json", "--budget", "2", target="toy:threads=4")
    assert [r.task.target.threads for r in records()] == [2] * 5 + [3] * 2 + [4] * 2


@pytest.mark.parametrize("sizes", [[8], [8, 16]])
def test_all_tasks_in_the_json_of_a_network_are_tuned(tune, pipeline_file, capsys, records, sizes):
    path = pipeline_file()
    assert run(["tasks", str(path), "--set", f"source.sizes={sizes}", "--json"]) == 0
    path.with_name("tasks.json").write_text(capsys.readouterr().out)
    code, out, err = tune("tasks.json", "--budget", "4", "--json")
    assert code == 0, err
    told = json.loads(out)
    found = [told] if len(sizes) == 1 else told["tasks"]
    assert [one["trials"] for one in found] == [4] * len(sizes)
    assert len({one.task.key for one in records()}) == len(sizes)


def test_a_verb_for_one_task_refuses_a_file_of_two(call, pipeline_file, capsys):
    path = pipeline_file()
    assert run(["tasks", str(path), "--set", "source.sizes=[8, 16]", "--json"]) == 0
    path.with_name("tasks.json").write_text(capsys.readouterr().out)
    code, _, err = call("space", "tasks.json", "--target", "toynative")
    assert code == 2
    assert "tasks.json: expected one task, got 2\n  give one entry of its `tasks`" in err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "no JSON: "),
        ("[]", "'operator' is missing"),
        ("{}", "'operator' is missing"),
        ('{"tasks": []}', "it lists no tasks"),
        ('{"tasks": 3}', "it lists no tasks"),
        ('{"tasks": [3]}', "it holds no workload"),
        ('{"operator": "x", "inputs": 1}', "inputs: expected a list, got 1"),
        ('{"operator": "x", "inputs": [[[-3], "float32", "constant"]]}', "inputs.0.0.0: expected"),
    ],
)
def test_a_file_without_a_task_is_told_without_words_of_python(tune, tmp_path, content, message):
    (tmp_path / "t.json").write_text(content)
    code, _, err = tune("t.json")
    assert (code, "Error:" in err) == (2, False)
    assert f"t.json: {message}" in err


def test_the_budget_is_trials_or_seconds(tune):
    assert json.loads(tune("toyadd(8)", "--budget", "7", "--json")[1])["trials"] == 7
    slow = ("--runner", "{toy: {seconds: 0.05}}", "--budget", "1000ms", "--json")
    found = json.loads(tune("toyadd(16)", *slow)[1])
    assert 1 <= found["trials"] < 60
    assert found["seconds"] < 30


def test_conditions_device_and_records_are_where_they_were_asked_for(tune, records):
    tune("toyadd(8)", "--budget", "2", "--conditions", "warm", "--records", "a/b.jsonl")
    tune("toyadd(8)", "--budget", "2", "--device", "toy1")
    (first, _), (second, _) = records("a/b.jsonl"), records()
    assert first.trial.input.conditions.constants == "warm"
    assert second.trial.input.conditions.constants == "cold"
    assert (first.device, second.device) == ("toy0", "toy1")


def test_a_second_device_begins_anew_in_the_same_file_or_with_the_best_of_the_first(
    tune, records, caplog
):
    tune("toyadd(8)", "--budget", "40")
    best = min(records(), key=lambda record: record.seconds).config
    assert tune("toyadd(8)", "--budget", "1", "--device", "toy1")[0] == 0
    assert "made on another device (toy0 " in caplog.text
    assert records()[-1].config != best
    tune("toyadd(8)", "--budget", "2", "--device", "toy1", "--foreign-records")
    assert best in [record.config for record in records()[41:]]


@pytest.mark.parametrize("seed", ["-1", str(2**31)])
def test_a_seed_that_is_none_is_refused(tune, seed):
    code, _, err = tune("toyadd(64)", "--seed", seed)
    assert code == 2
    assert f"'--seed': {seed} is not in the range 0<=x<=2147483647" in err


@pytest.mark.needs("search")
def test_the_seed_decides_what_is_tried(tune, records):
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        flags = ("--tuner", "random", "--budget", "12", "--seed", seed)
        tune("toyadd(8)", *flags, "--records", f"{name}.jsonl")
    first, again, other = ([r.config for r in records(f"{name}.jsonl")] for name in "abc")
    assert first == again
    assert first != other


def test_strategies_are_a_glob_over_alternatives(tune):
    code, out, _ = tune("toyadd(8)", "--strategies", "toy.*", "--budget", "2", "--json")
    assert (code, json.loads(out)["strategy"]) == (0, "toy.loop")
    code, _, err = tune("toyadd(8)", "--strategies", "*/none", "--budget", "2")
    assert code == 2
    assert "no strategy for 'toyadd' on toy:threads=1 matches '*/none'" in err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--tuner", "toi"), "did you mean 'toy'"),
        (("--tuner", "{toy: {bach: 3}}"), "did you mean 'batch'"),
        (("--scheduler", "toi"), "no scheduler named 'toi'"),
        (("--scheduler", "{toy: {weight: 3}}"), "key 'weight'\n  there are no options here"),
        (("--runner", "toi"), "no runner named 'toi'"),
        (("--builder", "toi"), "no builder named 'toi'"),
        (("--device", "moon"), "no device 'moon'"),
        (("--conditions", "hot"), "'hot' is not one of 'cold', 'warm'"),
        (("--seed", "x"), "not a valid integer"),
        (("--strategies", "derived/*"), "matches 'derived/*'\n  known: toy.loop"),
    ],
)
def test_a_wrong_flag_is_one_message_before_anything_is_measured(tune, tmp_path, flags, message):
    code, out, err = tune("toyadd(8)", "--budget", "2", *flags)
    assert (code, out) == (2, "")
    assert message in err
    assert not (tmp_path / "runs").exists()


def test_when_every_trial_fails_the_reasons_are_said_once(tune, caplog):
    failing = ("--runner", "{toy: {fails: all}}", "--budget", "1000", "--json")
    code, out, _ = tune("toyadd(8)", *failing)
    found = json.loads(out)
    assert code == 3
    assert found["trials"] == found["failures"] < 128
    assert (found["best_seconds"], found["strategy"], found["config"]) == (None, None, None)
    (said,) = caplog.messages
    assert said.startswith(f"toyadd(8): all {found['trials']} trials failed:\n  crash (SIGTOY)")


def test_a_lost_device_is_a_partial_result(tune):
    code, out, _ = tune("toyadd(8)", "--runner", "{toy: {lost_after: 9}}", "--json")
    assert (code, json.loads(out)["partial"], json.loads(out)["skipped"]) == (3, True, False)
    assert json.loads(out)["config"]
    code, out, _ = tune("toyadd(8)", "--budget", "40", "--json")
    assert (code, json.loads(out)["partial"]) == (0, False)


@pytest.mark.needs("search")
def test_spaces_of_no_point_one_point_and_1e15_points(tune, monkeypatch):
    monkeypatch.setenv("TOY_SPACE", "none")
    code, _, err = tune("toyadd(4)", "--budget", "9")
    assert code == 2
    assert "no feasible config for toyadd(4) on toy:threads=1" in err
    monkeypatch.setenv("TOY_SPACE", "one")
    found = json.loads(tune("toyadd(5)", "--budget", "9", "--json")[1])
    assert (found["trials"], found["config"]["values"]) == (1, {"unroll": 4, "width": 16})
    monkeypatch.setenv("TOY_SPACE", "vast")
    found = json.loads(tune("toyadd(6)", "--budget", "9", "--tuner", "random", "--json")[1])
    assert (found["trials"], found["failures"]) == (9, 0)
