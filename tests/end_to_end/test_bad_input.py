"""What a user gets wrong: one message with place and remedy, exit code 2, nothing created."""

from __future__ import annotations

import json
import sys

import pytest

import tilewright_x86.machine.isa
from tilewright.plugins.loading.distributions import installer


@pytest.fixture
def refused(call, folder):
    """A function that runs a verb which must fail: what it says, without the progress before."""
    (folder / "cut.onnx").write_bytes((folder / "tiny.onnx").read_bytes()[:-99])

    def invoke(*arguments):
        before = sorted(folder.rglob("*"))
        code, out, err = call(*arguments)
        assert (code, out) == (2, "")
        assert "Traceback" not in err
        assert sorted(folder.rglob("*")) == before
        return err[err.index("error: ") :].splitlines()

    return invoke


CASES = {
    "missing model": (
        ("tiny.onnx", "none.onnx"),
        "tiny.yaml:6:18: stages[0].import.model: none.onnx: no such model file in /",
        "give a path, or onnx-light:NAME",
    ),
    "unknown model of a package": (
        ("tiny.onnx", '"onnx-light:resnet5"'),
        "tiny.yaml:6:5: stages[0].import: the onnx package has no light model 'resnet5'",
        "did you mean 'resnet50'?",
    ),
    "model of no known format": (
        ("tiny.onnx", "tiny.caffemodel"),
        "tiny.yaml:6:18: stages[0].import.model: tiny.caffemodel: no installed frontend reads",
        "name the `frontend`",
    ),
    "truncated model": (
        ("tiny.onnx", "cut.onnx"),
        "cut.onnx: no ONNX model, or cut short",
        "copy it again",
    ),
    "unknown stage": (
        ("extract: ", "extrakt: "),
        "tiny.yaml:7:5: stages[1].extrakt: no stage named 'extrakt'",
        "did you mean 'extract'?",
    ),
    "unknown tuner": (
        ("tuner: random", "tuner: randon"),
        "tiny.yaml:8:18: stages[2].tune.tuner: no tuner named 'randon'",
        "did you mean 'random'?",
    ),
    "unknown option": (
        ("budget: 10", "bugdet: 10"),
        "tiny.yaml:8:33: stages[2].tune.bugdet: unknown key 'bugdet'",
        "did you mean 'budget'?",
    ),
    "unknown option of a tuner": (
        ("tuner: random", "tuner: {xgb: {bach: 3}}"),
        "tiny.yaml:8:32: stages[2].tune.tuner.xgb.bach: unknown key 'bach'",
        "did you mean 'batch'?",
    ),
    "duplicate key": (
        ("budget: 10", "budget: 10, budget: 11"),
        "tiny.yaml:8:45: the key 'budget' is there twice, first at 8:33",
        "keep one of them",
    ),
    "stage without its input": (
        ("  - extract:    {}\n", ""),
        "tiny.yaml:7:5: stages[1].tune: 'tune' needs a TaskSet and no earlier stage makes one",
        "put 'extract' before it",
    ),
    "unknown target": (
        ("kind: x86", "kind: moon"),
        "tiny.yaml:3:1: target: no target named 'moon'",
        "known: cuda, x86",
    ),
    "unknown ISA": (
        ("threads: 1", "isa: avx513"),
        "tiny.yaml:3:1: target: target x86:isa=avx513: no ISA named 'avx513'",
        "did you mean 'avx512'?",
    ),
    "too many threads": (
        ("threads: 1", "threads: 1023"),
        "tiny.yaml:3:1: target: x86:isa=",
        "ask for at most threads=",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_is_named_with_place_and_remedy(case, refused, folder):
    change, message, remedy = CASES[case]
    path = folder / "tiny.yaml"
    text = path.read_text()
    assert change[0] in text
    path.write_text(text.replace(*change))
    first, second = refused("run", "tiny.yaml")
    assert first.startswith(f"error: {message}")
    assert remedy in second


def test_a_model_that_is_not_there_is_told_beside_the_other_mistakes(refused, folder):
    path = folder / "tiny.yaml"
    path.write_text(path.read_text().replace("tiny.onnx", "none.onnx").replace("random", "randon"))
    told = [line for line in refused("run", "tiny.yaml") if line.startswith("error: ")]
    assert [line.split(": ")[2] for line in told] == [
        "stages[0].import.model",
        "stages[2].tune.tuner",
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", ""], "error: expected a pipeline file or a model, got nothing"),
        (["run", "none.onnx"], "error: none.onnx: no such model file in /"),
        (["run", "none.yaml"], "error: none.yaml: no such pipeline file in /"),
        (["run", "runs.yaml"], "error: runs.yaml: expected a pipeline file, got a folder"),
        (["run", "tiny.yaml", "--seed", "-1"], "seed: expected a whole number from 0 to"),
        (["run", "tiny.yaml", "--set", "stages=3"], "error: --set stages=3: stages are set one"),
        (["run", "tiny.yaml", "--set", "import=tiny.onnx"], "names a stage, not an option of it"),
    ],
)
def test_what_a_new_user_gets_wrong_is_one_line_with_a_remedy(refused, folder, arguments, says):
    (folder / "runs.yaml").mkdir()
    first, remedy = refused(*arguments)
    assert says in first
    assert remedy.startswith("  ")


def test_an_unknown_operator_is_named_with_its_node(refused, folder, make_model):
    (folder / "tiny.onnx").write_bytes(make_model(operator="Frobnicate"))
    first, second = refused("run", "tiny.yaml")
    assert "node 'act1': no reader for the ONNX operator 'Frobnicate'" in first
    assert second == "  the README of tilewright-onnx lists the operators that are read"


def test_a_dynamic_dimension_wants_a_value_and_takes_it(refused, call, folder, make_model):
    (folder / "tiny.onnx").write_bytes(make_model(batch="batch"))
    first, second = refused("run", "tiny.yaml")
    assert "input 'x': dimension 0 (batch) is dynamic" in first
    assert "--set 'import.shapes={\"x\": [1, 8, 7, 7]}';" in second
    _, out, _ = call("tasks", "tiny.yaml", "--set", 'import.shapes={"x": [1, 8, 7, 7]}', "--json")
    assert json.loads(out)["tasks"][0]["text"].startswith("conv2d(1x8x7x7, ")


def test_an_isa_that_this_machine_lacks_is_refused(refused, monkeypatch):
    narrow = tuple(isa for isa in tilewright_x86.machine.isa.ISAS if isa.name == "sse4")
    monkeypatch.setattr("tilewright_x86.machine.isa.available", lambda: narrow)
    first, second = refused("run", "tiny.yaml", "--target", "x86:isa=avx512")
    assert first == "error: --target: target x86:isa=avx512,threads=1: this machine runs sse4"
    assert second == "  compile for x86:isa=sse4"


def test_a_solver_that_is_not_installed_is_told_before_anything_is_tuned(refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "highspy", None)
    first, second = refused("run", "tiny.yaml", "--set", "graph-tune.graph_tuner=exact")
    assert first.startswith("error: --set graph-tune.graph_tuner=exact: graph tuner 'exact' needs")
    assert second.startswith(f"  {installer()} install highspy")


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--dim", "batch=0"], "error: --dim batch=0: "),
        (["--runner", "nobody"], "error: --runner nobody: no runner named 'nobody'"),
        (["--effort", "2", "--set", "tune.tuner=nobody"], "error: --set tune.tuner=nobody: "),
    ],
)
def test_what_a_flag_says_wrong_is_told_of_the_flag(refused, flags, says):
    first, *_ = refused("run", "tiny.yaml", *flags)
    assert first.startswith(says)


def test_an_effort_without_a_stage_to_tune_is_told_once(refused, folder):
    (folder / "bare.yaml").write_text("version: 1\nstages:\n  - import: {model: tiny.onnx}\n")
    told = [line for line in refused("run", "bare.yaml", "--effort", "2") if "error: " in line]
    assert told == ["error: --effort 2: no stage or key 'tune'"]


def test_a_model_may_be_called_anything(call, folder):
    (folder / "tiny.onnx").rename(folder / "\U0001f600.onnx")
    assert call("tasks", "\U0001f600.onnx")[0] == 0


def test_a_model_that_may_not_be_read_is_told_as_such(refused, monkeypatch):
    def load_model(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("onnx.load_model", load_model)
    assert refused("tasks", "tiny.onnx")[0] == (
        "error: tiny.onnx: cannot read the file: Permission denied"
    )


def test_a_model_that_was_good_keeps_its_report(refused, call, folder):
    assert call("compile", "tiny.yaml")[0] == 0
    report = (folder / "runs/tiny/run.json").read_text()
    refused("compile", "tiny.yaml", "--set", "import.model=cut.onnx")
    assert (folder / "runs/tiny/run.json").read_text() == report
