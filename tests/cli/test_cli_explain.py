"""`tilewright explain TASK`: the config, where it comes from, and what else was considered."""

from __future__ import annotations

import errno
import json
import os

import pytest

from tilewright_cli.terminal.group import run
from tilewright_pipeline.api.task_explanation import knob_lines
from tilewright_records.store.store import JsonlRecordStore

PARTS = ("--runner", "toy", "--builder", "toy", "--scheduler", "toy", "--tuner", "toy")
TARGET = ("--target", "toynative")


@pytest.fixture
def explained(call):
    """A function that explains a task: the JSON object."""

    def explain(task, *flags):
        code, out, err = call("explain", task, *flags, "--json")
        assert code == 0, err
        return json.loads(out)

    return explain


def test_what_was_never_measured_takes_the_fallback(explained, tmp_path):
    told = explained("toyadd(8)", *TARGET)
    assert told["answer"]["source"] == "fallback"
    assert told["answer"]["config"]["values"] == {"unroll": 1, "width": 1}
    assert [each["answer"] is None for each in told["asked"]] == [True, False]
    assert told["measured"] == []
    (strategy,) = told["strategies"]
    assert (strategy["name"], strategy["configs"], strategy["measured"]) == ("toy.loop", 128, 0)
    assert strategy["advice"] == {"unroll": 1, "width": 1}
    assert not (tmp_path / "runs").exists()


def test_what_only_reads_does_so_where_nothing_can_be_written(
    call, pipeline_file, monkeypatch, capsys
):
    path = str(pipeline_file())

    def refuse(**_):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("tilewright_pipeline.writing.TemporaryDirectory", refuse)
    assert call("explain", "toyadd(8)", *TARGET)[0] == 0
    code, _, err = call("explain", "toyadd(8)", *TARGET, "--records", "none.jsonl")
    assert (code, "none.jsonl: no such records file" in err) == (2, True)
    assert run(["tasks", path]) == 0
    assert run(["run", path]) == 2
    assert "runs/toyrun: --out: Read-only file system" in capsys.readouterr().err


def test_the_fastest_record_answers_and_the_next_ones_are_named(call, explained):
    call("tune", "toyadd(8)", *TARGET, *PARTS, "--budget", "200")
    told = explained("toyadd(8)", *TARGET)
    assert told["answer"]["source"] == "runs/tune/records.jsonl"
    assert told["answer"]["config"]["values"] == {"unroll": 8, "width": 32}
    assert told["answer"] == told["asked"][0]["answer"]
    times = [each["seconds"] for each in told["measured"]]
    assert len(times) == 128
    assert times == sorted(times)
    assert told["measured"][0]["config"] == told["answer"]["config"]
    # The finalists were measured twice; their last measurements are those that count.
    assert told["not_counted"] == {"measured again later": 4}


def test_a_key_names_the_task_with_or_without_its_target(call, explained):
    call("tune", "toyadd(8)", *TARGET, *PARTS, "--budget", "3")
    by_text = explained("toyadd(8)", *TARGET)
    key = by_text["task"]["key"]
    assert explained(key) == explained(f"{key}@toy:threads=1") == by_text
    code, _, err = call("explain", "0123456789abcdef")
    assert (code, "no record has the key" in err) == (2, True)


def test_records_that_do_not_count_are_told_by_reason(call, explained, monkeypatch):
    call("tune", "toyadd(8)", *TARGET, *PARTS, "--budget", "3")
    call("tune", "toyadd(8)", *TARGET, *PARTS, "--budget", "2", "--conditions", "warm")
    elsewhere = ("--device", "toy1", "--records", "toy1.jsonl")
    call("tune", "toyadd(8)", *TARGET, *PARTS, "--budget", "2", *elsewhere)
    call("records", "merge", "toy1.jsonl", "--into", "runs/tune/records.jsonl")
    reasons = {"measured under other conditions": 2, "made on another device": 2}
    assert explained("toyadd(8)", *TARGET)["not_counted"] == reasons
    monkeypatch.setenv("TOY_REVISION", "2")
    told = explained("toyadd(8)", *TARGET)
    assert told["not_counted"]["by another revision of toy.loop"] == 3
    assert told["answer"]["source"] == "fallback"


def test_people_are_told_the_same(call):
    call("tune", "toyadd(8)", *TARGET, *PARTS, "--budget", "9")
    _, out, _ = call("explain", "toyadd(8)", *TARGET)
    lines = out.splitlines()
    assert lines[0] == "toyadd(8) on toy:threads=1"
    assert any(line.startswith("  answer: ") and " us, toy.loop, from " in line for line in lines)
    assert any("toy.loop, revision 1, priority 10: 128 configs" in line for line in lines)


ODD = '''
from tilewright import hookimpl
from tilewright.strategies.strategy import strategy

@strategy("toy.odd", operator="toyadd", target="toy")
class Odd:
    def applies(self, task):
        """An odd number of elements.

        Nothing else is shown.
        """
        return task.workload.inputs[0].shape[0] % 2 == 1

    def alternatives(self, task):
        from tilewright.space.knobs import Knobs

        knobs = Knobs("toy.odd")
        knobs.define_knob("unroll", [1])
        knobs.define_knob("width", [1])
        return [knobs.alternative()]

    def fallback(self, task):
        return self.alternatives(task)[0].get(0)

    def lower(self, task, config):
        return "toy.odd"

@hookimpl
def tilewright_strategies():
    return [Odd]
'''


def test_who_declines_a_task_is_named_with_what_it_takes(call, explained, tmp_path):
    (tmp_path / "odd.py").write_text(ODD)
    own = ("--plugin", "odd.py", *TARGET)
    declined = {"name": "toy.odd", "serves": "An odd number of elements."}
    assert explained("toyadd(8)", *own)["declined"] == [declined]
    assert explained("toyadd(9)", *own)["declined"] == []
    assert explained("toyadd(8)", *TARGET)["declined"] == []
    assert json.loads(call("space", "toyadd(8)", *own, "--json")[1])["declined"] == [declined]
    assert "toy.odd" not in call("space", "toyadd(8)", *own, "--strategies", "toy.l*")[1]
    said = "toy.odd declines, it takes: An odd number of elements.\n"
    assert all(said in call(verb, "toyadd(8)", *own)[1] for verb in ("space", "explain"))
    code, _, err = call("space", "toyadd(8)", *own, "--strategies", "toy.odd")
    assert (code, said.strip() in err) == (2, True)


def test_advice_that_failed_is_passed_over(call, explained, tmp_path):
    (tmp_path / "odd.py").write_text(ODD)
    own = (*TARGET, "--plugin", "odd.py")
    assert explained("toyadd(9)", *own)["answer"]["config"]["strategy"] == "toy.odd"
    call("tune", "toyadd(9)", *own, *PARTS, "--runner", "{toy: {fails: all}}", "--budget", "1")
    told = explained("toyadd(9)", *own)
    assert [each["failed"] for each in told["strategies"] if each["name"] == "toy.odd"] == [1]
    assert told["answer"]["config"]["strategy"] == "toy.loop"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("explain", "toyadd(8)", "r.jsonl", *TARGET), "--records names another records file"),
        (("explain", "toyadd(8)", "--set", "a.b=1", *TARGET), "a task has no parts"),
        (("explain", "toyadd(8", *TARGET), "its last bracket is not closed"),
        (("explain", "toyadd(8) + toyadd", *TARGET), "write operator(arguments), and + operator("),
    ],
)
def test_a_mistake_is_one_message(call, arguments, message):
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_a_pipeline_without_a_network_says_so(capsys, pipeline_file):
    code, err = run(["explain", str(pipeline_file())]), capsys.readouterr().err
    assert code == 2
    assert "no stage of it makes what can be explained" in err


def test_explaining_writes_nothing(call, tmp_path):
    call("tune", "toyadd(8)", *TARGET, *PARTS, "--budget", "3")
    path = tmp_path / "runs/tune/records.jsonl"
    before = path.read_bytes()
    call("explain", "toyadd(8)", *TARGET)
    assert path.read_bytes() == before
    assert len(JsonlRecordStore(path).records()) == 3


def test_a_key_without_a_record_says_how_to_explain_a_task_of_a_network(call):
    code, _, err = call("explain", "0123456789abcdef", *TARGET)
    assert code == 2
    assert "\n  of a network that was never tuned: tilewright explain FILE.yaml|MODEL 0123" in err


def test_a_name_alone_says_how_to_name_it_behind_its_network(call):
    code, _, err = call("explain", "conv2d_64x56x56_add+relu")
    assert code == 2
    assert "tilewright explain FILE.yaml|MODEL conv2d_64x56x56_add+relu" in err


def test_a_key_that_tasks_printed_of_a_tuned_network_is_found_in_its_run(
    call, pipeline_file, tmp_path
):
    path = str(pipeline_file())
    assert call("run", path, plugin=False)[0] == 0
    _, out, err = call("tasks", path, plugin=False)
    keys = [line.split()[0] for line in out.splitlines()]
    assert err == f"more on one: tilewright explain {path} {keys[0]}\n"
    _, _, err = call("tasks", path, "--target", "toy:threads=1", "--set", "seed=3", plugin=False)
    hint = f"tilewright explain {path} {keys[0]} --target toy:threads=1 --set seed=3"
    assert err == f"more on one: {hint}\n"
    (tmp_path / "runs" / "odd").mkdir()
    (tmp_path / "runs" / "odd" / "records.jsonl").write_bytes(b"\xff no log")
    for key in keys:
        code, out, err = call("explain", key, "--json")
        told = json.loads(out) if code == 0 else err
        assert (told["task"]["key"], told["records"]) == (key, "runs/toyrun/records.jsonl")
        assert json.loads(call("space", key, "--json")[1])["key"].startswith(key)


def test_knobs_are_printed_once_and_in_lines_that_fit(call):
    call("tune", "toyadd(8)", *TARGET, *PARTS, "--budget", "9")
    _, out, _ = call("explain", "toyadd(8)", *TARGET)
    best, *others = [line.strip() for line in out.splitlines() if line.startswith(" " * 6)]
    assert best.startswith("unroll=")
    assert "width=" in best
    assert 1 <= len(others) <= 4  # of the slower configs what differs, of the best nothing
    knobs = {f"k{n}": [n] * 4 for n in range(30)}
    lines = list(knob_lines(knobs))
    assert max(map(len, lines)) <= 100
    assert " ".join(lines).split() == [
        f"{name}={value}".replace(" ", "") for name, value in knobs.items()
    ]
