"""A pipeline file with several mistakes: all are told at once, each with its place and remedy."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright_cli.terminal.group import run
from tilewright_pipeline.pipeline import Pipeline
from tilewright_pipeline.yaml.planner import Planner
from tilewright_pipeline.yaml.yaml_source import YamlSource

GOOD = """\
version: 1
name: toyrun
seed: 3
target: {kind: toy, threads: 1}
device: toy0
strategies: "*"
measure:
  runner: {toy: {fails: most}}
  builder: toy
  repeat: 5
  constants: cold
stages:
  - source: {sizes: [8, 16]}
  - tune:
      tuner: {toy: {batch: 5}}
      scheduler: toy
      budget: 60s
      early_stopping: 9
  - check: {passes: true}
"""

MISTAKES = {
    1: ["version: 2", "versoin: 1", "version: .inf", "version: 1\nversion: 1"],
    2: ["name: 3", "name: a/b", "nmae: toyrun", "name: !!str toyrun", "name: ''"],
    3: ["seed: -1", "seed: many", "seeed: 1", "seed: *nobody", "seed: 1e999", "seed: [1]"],
    4: ["target: moon", "target: [toy]", "target: {threads: 1}", "target: {kind: toy, Threads: 1}"],
    5: ["device: 3", "devise: toy0", "device: {a: b}"],
    6: ["strategies: {a: b}", "strategies: [a]", "strategies: 5"],
    8: ["  runner: tooy", "  runner: {toy: {failz: x}}", "  runner: 3", "  runer: toy"],
    9: ["  builder: tooy", "  builder: {toy: {seconds: long}}", "  builder: [toy]"],
    10: ["  repeat: 1", "  repeat: often", "  repeat: 1.5", "  repaet: 5"],
    11: ["  constants: hot", "  constants: 1", "  constant: cold"],
    13: ["  - source: {sizes: 8}", "  - source: {sizes: [8, x]}", "  - source: {size: [8]}"],
    15: [
        "      tuner: tooy",
        "      tuner: {toy: {batch: many}}",
        "      tuner: {toy: {fails: all}}",
        "      tuner: {toy: {}, other: {}}",
    ],
    16: ["      scheduler: tooy", "      scheduler: {toy: {a: 1}}", "      schedular: toy"],
    17: ["      budget: soon", "      budget: 5.5", "      budget: 0", "      bugdet: 60s"],
    18: ["      early_stopping: 0", "      early_stopping: .nan", "      early: 9"],
    19: [
        "  - check: {passes: perhaps}",
        "  - check: {pass: true}",
        "  - chekc: {}",
        "  - check: 5",
    ],
}
"""Ways to spoil each line, by its number, none of which makes another line wrong."""


def spoilt(changes):
    lines = GOOD.splitlines()
    for number, text in changes.items():
        lines[number - 1] = text
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def toys():
    from pathlib import Path

    return PluginHost.load([Path(__file__).parents[1] / "toy" / "toy_plugin.py"])


@given(
    st.fixed_dictionaries({}, optional={n: st.sampled_from(ways) for n, ways in MISTAKES.items()})
)
def test_n_independent_mistakes_give_n_lines(toys, changes):
    if not changes:
        assert Planner(YamlSource.parse(spoilt({}), "toy.yaml")).plan(toys).file.name == "toyrun"
        return
    with pytest.raises(UsageError) as error:
        Planner(YamlSource.parse(spoilt(changes), "toy.yaml")).plan(toys)
    told = error.value.each
    lines = [int(one.where.split(":")[1]) for one in told]
    added = sum("\n" in text for text in changes.values())  # the line that is there twice
    assert sorted(lines) == [number + added for number in sorted(changes)], str(error.value)
    assert all(one.remedy and one.message for one in told), str(error.value)
    assert not re.search("Input should|valid |NoneType|pydantic", str(error.value))


def test_a_file_with_six_different_mistakes_yields_six_lines(tmp_path, monkeypatch, capsys, toy):
    monkeypatch.chdir(tmp_path)
    changes = {
        3: "seed: many",
        4: "target: {kind: tooy}",
        10: "  repeat: 1",
        15: "      tuner: {toy: {bach: 5}}",
        17: "      budget: 5.5",
        19: "  - chekc: {}",
    }
    (tmp_path / "toy.yaml").write_text(spoilt(changes))
    assert run(["run", "toy.yaml", "--plugin", str(toy)]) == 2
    told = capsys.readouterr().err.splitlines()
    heads = [line for line in told if line.startswith("error: ")]
    budget = "seconds or a number of trials"
    assert heads == [
        "error: toy.yaml:3:1: seed: expected a whole number from 0 to 2147483647, got 'many'",
        "error: toy.yaml:4:1: target: no target named 'tooy'",
        "error: toy.yaml:10:3: measure.repeat: expected a whole number from 3 to 1000, got 1",
        "error: toy.yaml:15:21: stages[1].tune.tuner.toy.bach: unknown key 'bach'",
        f"error: toy.yaml:17:7: stages[1].tune.budget: expected {budget}, got 5.5",
        "error: toy.yaml:19:5: stages[2].chekc: no stage named 'chekc'",
    ]
    assert len(told) == 2 * len(heads)  # a remedy each
    assert "did you mean 'check'?" in told[-1]


def test_settings_that_are_wrong_are_told_beside_the_file(pipeline_file):
    settings = ["tune.bugdet=3", "budget=3s", "tune.budget.x.y=3", "source.sizes.0=3", "seed"]
    with pytest.raises(UsageError) as error:
        Pipeline.load(pipeline_file(sizes="8"), settings=settings)
    first, *others = map(str, error.value.each)
    assert "stages[0].source.sizes: expected a list" in first
    assert [other.partition(": ")[0] for other in others] == [f"--set {each}" for each in settings]


def test_a_setting_without_its_stage_is_told_with_it(pipeline_file):
    with pytest.raises(UsageError, match=r"budget=3s: no stage .*\n  did you mean 'tune.budget'\?"):
        Pipeline.load(pipeline_file(), settings=["budget=3s"])


@pytest.mark.parametrize(
    ("tune", "says"),
    [
        (
            "tuner: {toy: {fails: all}}",
            "tuner 'toy' takes no option 'fails'; that is an option of runner 'toy'",
        ),
        ("tuner: check", "'check' is a stage, not a tuner"),
        ("tuner: toy, passes: true", "stage 'tune' takes no option 'passes'; that is an option of"),
    ],
)
def test_an_option_or_name_of_another_component_is_told_as_such(pipeline_file, tune, says):
    with pytest.raises(UsageError, match=re.escape(says)):
        Pipeline.load(pipeline_file(tune=tune))


def test_a_stage_that_is_missing_is_told_once_with_those_that_it_needs(pipeline_file):
    path = pipeline_file()
    text = path.read_text().replace("  - source: {sizes: [8, 16]}\n", "")
    path.write_text(text)
    expected = r"'tune' needs a TaskSet .*\n  put '.*' before it"
    with pytest.raises(UsageError, match=expected) as error:
        Pipeline.load(path)
    assert len(error.value.each) == 1


def test_a_second_identical_stage_is_told(pipeline_file, caplog):
    Pipeline.load(pipeline_file(check="{}\n  - check: {passes: true}\n  - check: {passes: false}"))
    (said,) = caplog.messages
    assert "toy.yaml:10:5: stages[3].check: the same stage with the same options is at" in said


def test_what_only_follows_from_a_missing_plugin_file_is_not_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.yaml").write_text(spoilt({5: "plugins: [none.py]"}))
    with pytest.raises(UsageError, match=r"none.py: no such plugin file in") as error:
        Pipeline.load("toy.yaml")
    assert len(error.value.each) == 1


def test_a_setting_below_a_choice_chooses_it(pipeline_file):
    path = pipeline_file(tune="tuner: xgb, budget: 20")
    pipeline = Pipeline.load(path, settings=["tune.tuner.toy.batch=9"])
    assert pipeline.plan.stages[1].options.tuner == Choice("toy", {"batch": 9})


@pytest.mark.parametrize("text", ["net.onnx", "examples/a.yaml", "zoo:resnet-18", "a b/model.onnx"])
def test_tune_points_to_run_for_a_network(text, capsys):
    assert run(["tune", text]) == 2
    assert f"tuned by `tilewright run {text}`" in capsys.readouterr().err


def test_run_points_to_tune_for_a_task(capsys):
    assert run(["run", "dense(1x64, 10x64)"]) == 2
    err = capsys.readouterr().err
    assert "error: dense(1x64, 10x64): a task, not a model" in err
    assert "`tilewright tune TASK`" in err


LACKING = """
from tilewright import Component, hookimpl
from tilewright.options import Choice, Options

class VerifyOptions(Options):
    oracle: Choice = Choice("nobody")

class Verify:
    consumes = optional = produces = ()

@hookimpl
def tilewright_stages():
    return [Component("verify", "asks an oracle that nobody has", lambda: Verify, lambda: VerifyOptions)]
"""
RAISING = """
from tilewright import Component, hookimpl

def broken():
    raise ImportError("no module of that kind")

@hookimpl
def tilewright_stages():
    return [Component("aaa", "cannot be {what}", {load}, {options})]
"""


def test_what_no_verify_leaves_out_may_lack_its_oracle(toy, tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_BLOCK_PLUGINS", "graph,onnx,openvino")
    (tmp_path / "lacking.py").write_text(LACKING)
    host = PluginHost.load([toy, tmp_path / "lacking.py"])
    source = YamlSource.parse(GOOD.replace("stages:\n", "stages:\n  - verify: {}\n"), "toy.yaml")
    with pytest.raises(UsageError, match="no oracle named 'nobody'"):
        Planner(source).plan(host)
    without = Planner(source, verify=False)
    assert [stage.name for stage in without.plan(host).stages] == ["source", "tune", "check"]
    only = Planner(source, verify=False).plan(host, only="tune")
    assert [stage.name for stage in only.stages] == ["source", "tune"]


@pytest.mark.parametrize(("what", "load", "options"), [
    ("loaded", "broken", "lambda: None"),
    ("configured", "lambda: object", "broken"),
])  # fmt: skip
def test_a_stage_that_is_broken_is_blamed_for_it(toy, tmp_path, what, load, options):
    (tmp_path / "broken.py").write_text(RAISING.format(what=what, load=load, options=options))
    host = PluginHost.load([toy, tmp_path / "broken.py"])
    source = YamlSource.parse(GOOD.replace("stages:\n", "stages:\n  - aaa: {}\n"), "toy.yaml")
    with pytest.raises(ImportError) as error:
        Planner(source).plan(host)
    assert any("stage 'aaa' of file" in note for note in error.value.__notes__)
