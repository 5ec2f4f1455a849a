"""`--save`: what benchmarks write, how it is merged, and what is no result."""

from __future__ import annotations

import argparse
import json

import pytest

from tilewright.errors import UsageError

CPUINFO = """\
processor	: 0
model name	: Intel(R) Xeon(R) Processor @ 2.80GHz
processor	: 1
model name	: Intel(R) Xeon(R) Processor @ 2.80GHz
"""


@pytest.fixture
def data(module, tmp_path, monkeypatch):
    """The module of the data, whose folder is empty."""
    found = module("result_data")
    monkeypatch.setattr(found, "FOLDER", tmp_path)
    return found


@pytest.fixture
def machine(data):
    return data.Machine(name="mine", title="mine", model="a processor", cores=2)


def entry(data, state="", **cases):
    rows = [data.Row(case=case, ours=ours, goal=2.0) for case, ours in cases.items()]
    described = {"date": "2026-01-02", "command": "pool.py", "source": "--save", "unit": "us"}
    return data.Entry(question="pool", state=state, better="less", rows=rows, **described)


def figures(file):
    return {
        (each.state, row.case): row.ours
        for each in file.entries
        for row in each.rows
    }  # fmt: skip


def test_what_is_written_is_read(data, machine, tmp_path):
    path = data.add(machine, entry(data, a=1.0), tmp_path)
    assert path == tmp_path / "mine.json"
    (found,) = data.read_all(tmp_path)
    assert found.machine == machine
    assert found.entries == (entry(data, a=1.0),)


def test_five_digits_are_written(data, machine, tmp_path):
    path = data.add(machine, entry(data, a=1234.5678, b=0.000123456789), tmp_path)
    assert figures(data.read(path)) == {("", "a"): 1234.6, ("", "b"): 0.00012346}


def test_a_case_takes_the_place_of_what_it_was_and_leaves_the_others(data, machine, tmp_path):
    for each in (entry(data, a=1.0, b=2.0), entry(data, "shared", a=3.0), entry(data, a=4.0)):
        path = data.add(machine, each, tmp_path)
    assert figures(data.read(path)) == {("", "a"): 4.0, ("", "b"): 2.0, ("shared", "a"): 3.0}
    path = data.add(machine, entry(data, b=5.0), tmp_path)
    assert figures(data.read(path)) == {("", "a"): 4.0, ("", "b"): 5.0, ("shared", "a"): 3.0}
    assert len(data.read(path).entries) == 3


def test_runs_of_one_state_stand_beside_each_other(data, machine, tmp_path):
    first = entry(data, a=1.0)
    for each in (first, first.model_copy(update={"run": 2}), first):
        path = data.add(machine, each, tmp_path)
    assert [each.run for each in data.read(path).entries] == [1, 2]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"unit": 7}, "results/mine.json: entries[0].unit: Input should be a valid string"),
        ({"rows": []}, "results/mine.json: entries[0].rows: Tuple should have at least 1 item"),
        ({"speed": 1}, "results/mine.json: entries[0].speed: Extra inputs are not permitted"),
        (
            {"rows": [{"case": "a"}]},
            "results/mine.json: entries[0].rows[0]: expected `ours` or `speedup`",
        ),
        (
            {"rows": [{"case": "a", "ours": 1, "peer": 2}]},
            "results/mine.json: entries[0]: 'a' is compared, but `peer` names nobody",
        ),
        (
            {"rows": [{"case": "a", "ours": 1}, {"case": "a", "ours": 2}]},
            "results/mine.json: entries[0]: the case 'a' occurs twice",
        ),
    ],
)
def test_what_is_no_result_is_told_in_one_line(data, machine, tmp_path, changed, told):
    path = data.add(machine, entry(data, a=1.0), tmp_path / "results")
    text = json.loads(path.read_text())
    text["entries"][0] |= changed
    path.write_text(json.dumps(text))
    with pytest.raises(UsageError) as caught:
        data.read(path)
    assert str(caught.value).startswith(told)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", '{"format": 1', "\x00"])
def test_a_file_that_is_no_json_object_is_told_in_one_line(data, tmp_path, text):
    (tmp_path / "mine.json").write_text(text)
    with pytest.raises(UsageError, match=r"mine\.json: \w") as caught:
        data.read(tmp_path / "mine.json")
    assert "\n" not in str(caught.value)


def test_a_file_under_another_name_is_refused(data, machine, tmp_path):
    path = data.add(machine, entry(data, a=1.0), tmp_path)
    with pytest.raises(UsageError, match=r"other\.json: machine\.name: expected 'other'"):
        data.read(path.rename(tmp_path / "other.json"))


@pytest.mark.parametrize(
    ("better", "peer", "row", "figure", "reached"),
    [
        ("less", None, {"ours": 1.9}, 1.9, True),
        ("less", None, {"ours": 2.1}, 2.1, False),
        ("more", None, {"ours": 2.1}, 2.1, True),
        ("less", "other", {"ours": 2, "peer": 5}, 2.5, True),
        ("more", "other", {"ours": 2, "peer": 5}, 0.4, False),
        ("less", "other", {"ours": 2, "peer": 5, "speedup": 1.5}, 1.5, False),
        ("less", "other", {"ours": 2}, None, None),
    ],
)
def test_a_goal_is_of_the_speedup_where_there_is_a_peer(
    data, better, peer, row, figure, reached
):  # fmt: skip
    asked = data.Row(case="a", goal=2.0, **row)
    found = entry(data, a=1.0).model_copy(update={"better": better, "peer": peer, "rows": (asked,)})
    assert (found.figure(asked), found.reached(asked)) == (figure, reached)


def test_a_machine_is_named_after_its_processor(module, tmp_path):
    saving = module("saving")
    (tmp_path / "cpuinfo").write_text(CPUINFO)
    found = saving.this_machine(tmp_path / "cpuinfo")
    assert found.name == "intel-xeon-processor-2.80ghz-2-cores"
    assert found.model == "Intel(R) Xeon(R) Processor @ 2.80GHz"


def test_a_model_without_a_number_is_told_apart_by_its_family(module, tmp_path):
    saving = module("saving")
    (tmp_path / "cpuinfo").write_text(
        "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 1\nmodel name\t: AMD EPYC\n"
    )
    assert saving.this_machine(tmp_path / "cpuinfo").name == "amd-epyc-25.1"


def test_a_command_is_saved_without_paths_of_the_machine_and_what_only_saves(module):
    saving = module("saving")
    script = str(saving._ROOT / "benchmarks" / "pool.py")
    given = ["--torch-python", "/opt/x/bin/python", "--out=/tmp/y", "--threads", "2"]
    saved = saving.command_line([script, "--save", "--state", "shared", *given, "--state=calm"])
    told = "--torch-python PATH --out=PATH --threads 2"
    assert saved == f"benchmarks/pool.py {told}"


def test_save_writes_the_questions_unit_goal_and_peer(module, data, monkeypatch, tmp_path):
    saving = module("saving")
    monkeypatch.setattr(saving, "_ROOT", tmp_path)
    parser = argparse.ArgumentParser()
    saving.add_save_options(parser)
    monkeypatch.setattr(data.add, "__defaults__", (tmp_path,))
    rows = [data.Row(case="1 thread", ours=2.0, peer=3.0)]
    saving.save(parser.parse_args([]), "resnet50", rows)
    assert data.read_all(tmp_path) == []
    saving.save(parser.parse_args(["--save", "--state", "calm"]), "resnet50", rows)
    (file,) = data.read_all(tmp_path)
    (found,) = file.entries
    assert (found.state, found.unit, found.peer) == ("calm", "ms", "ONNX Runtime")
    assert found.rows[0].goal == 1.0
    assert found.versions["tilewright"]


def test_a_bad_file_is_told_before_anything_is_measured(module, data, tmp_path, capsys):
    saving = module("saving")
    (tmp_path / f"{saving.this_machine().name}.json").write_text("{}")
    parser = argparse.ArgumentParser()
    saving.add_save_options(parser)
    with pytest.raises(SystemExit):
        parser.parse_args(["--save"])
    assert "machine: Field required" in capsys.readouterr().err
