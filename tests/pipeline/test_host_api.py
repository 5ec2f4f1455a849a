"""`tilewright.tune` from Python, and the progress display."""

from __future__ import annotations

import inspect
import json
import logging
import sys

import pytest

import tilewright
from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.budget import Budget
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.target import Target
from tilewright_cli.progress.terminal_progress import TerminalProgress
from tilewright_pipeline.api.functions import tune_each
from tilewright_pipeline.context.events import (
    RunInfo,
    RunOutcome,
    Section,
    StageOutcome,
    TuneProgress,
)
from tilewright_pipeline.options.tune_options import TuneOptions
from tilewright_pipeline.pipeline import Pipeline
from tilewright_pipeline.yaml.file_model import MeasureSection, PipelineFile
from tilewright_records.store.store import JsonlRecordStore


@pytest.fixture
def choices(host):
    return {
        "host": host,
        "target": "toynative",
        **dict.fromkeys(("tuner", "scheduler", "runner", "builder"), "toy"),
    }


def test_tune_finds_the_best_config_of_a_task(choices, tmp_path):
    records = tmp_path / "r.jsonl"
    result = tilewright.tune("toyadd(64)", budget=160, records=records, **choices)
    assert (result.config["unroll"], result.config["width"]) == (8, 32)
    assert result.seconds == pytest.approx(64e-6 * 3)
    assert result.summary["trials"] == len(JsonlRecordStore(records).records()) == 132
    again = tilewright.tune(result.task, budget=160, records=records, **choices)
    assert (again.config, again.summary["trials"]) == (result.config, 0)


def test_tune_of_a_file_of_two_tasks_is_refused_before_anything_is_measured(choices, tmp_path):
    found = [
        tilewright.tune(f"toyadd({n})", budget=1, records=tmp_path / "r", **choices)
        for n in (8, 16)
    ]
    file, records = tmp_path / "tasks.json", tmp_path / "other.jsonl"
    tasks = [one.task.workload.to_json() for one in found]
    file.write_text(json.dumps({"tasks": tasks}))
    with pytest.raises(UsageError, match="expected one task, got 2"):
        tilewright.tune(str(file), budget=2, records=records, **choices)
    assert not records.exists()
    both = tune_each(str(file), budget=2, records=records, **choices)
    assert [one.task for one in both] == [one.task for one in found]


@pytest.mark.parametrize(
    ("given", "place", "expected"),
    [
        ({"early_stopping": 0}, "early_stopping", "expected a whole number"),
        ({"tuner": 5}, "tuner", "a name or {name: {options}}, got 5"),
        ({"budget": "soon"}, "budget", "expected seconds or a number of trials, got 'soon'"),
    ],
)
def test_tune_refuses_what_the_stage_refuses(choices, tmp_path, given, place, expected):
    with pytest.raises(UsageError) as error:
        tilewright.tune("toyadd(64)", records=tmp_path / "r.jsonl", **{**choices, **given})
    assert (error.value.where, expected in error.value.message) == (place, True)


def test_tune_of_a_task_that_never_works_has_no_config(choices, tmp_path, caplog):
    choices["runner"] = {"toy": {"fails": "all"}}
    with caplog.at_level(logging.ERROR):
        result = tilewright.tune("toyadd(64)", budget=4, records=tmp_path / "r.jsonl", **choices)
    assert (result.config, result.seconds, result.summary["failures"]) == (None, None, 4)


def test_the_package_lists_its_public_names_and_its_version():
    from importlib.metadata import version

    assert dir(tilewright) == sorted(tilewright.__all__)
    assert all(getattr(tilewright, name) is not None for name in dir(tilewright))
    assert tilewright.__version__ == version("tilewright")


def test_the_result_of_tuning_prints_what_was_found(choices, tmp_path):
    result = tilewright.tune("toyadd(64)", budget=4, records=tmp_path / "r.jsonl", **choices)
    assert repr(result).startswith("<TuneResult toyadd(64): ")
    assert repr(result).endswith("; 4 trials>")


def test_nothing_is_written_to_the_current_folder_unasked(choices, tmp_path, monkeypatch):
    """Measurements are kept all the same, in the user's folder for data, where the next call is."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    result = tilewright.tune("toyadd(64)", budget=4, **choices)
    again = tilewright.tune("toyadd(64)", budget=4, **choices)
    (told,) = tilewright.explain(result.task, host=choices["host"])
    assert list((tmp_path / "here").iterdir()) == []
    kept = str(tmp_path / "data" / "tilewright" / "records.jsonl")
    assert result.summary["records"] == told.records == kept
    assert (result.summary["trials"], again.summary["trials"]) == (4, 0)


@pytest.mark.parametrize("source", ["toyadd(64)", "key"])
def test_a_task_is_explained_as_on_the_command_line(choices, tmp_path, source):
    records, host = tmp_path / "r.jsonl", choices["host"]
    result = tilewright.tune("toyadd(64)", budget=8, records=records, **choices)
    source = result.task.key if source == "key" else source
    (told,) = tilewright.explain(source, records=records, target="toynative", host=host)
    assert (told.answer.config, told.answer.seconds) == (result.config, result.seconds)
    assert str(told).startswith("toyadd(64) on toy:threads=1\n  key ")
    assert len(repr(told)) < 400


def test_a_target_is_taken_as_a_value_too(choices, compiling, pipeline_file, tmp_path):
    target = Target("toy", {"threads": 2})
    assert tilewright.compile(["net"], target=target, host=compiling) == "['net'] for toy:threads=2"
    choices |= {"target": target, "budget": 2, "records": tmp_path / "r.jsonl"}
    assert tilewright.tune("toyadd(64)", **choices).task.target == target
    (told,) = tilewright.explain("toyadd(64)", target=target, host=choices["host"])
    assert told.task.target == target
    assert Pipeline.load(pipeline_file(), target=target).plan.target == target


@pytest.fixture
def compiling(toy, tmp_path, monkeypatch):
    """A host whose stage `compile` makes a text of lists."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILEWRIGHT_BLOCK_PLUGINS", "graph,onnx,openvino")
    stage = tmp_path / "compiling.py"
    stage.write_text(
        "from tilewright import Component, hookimpl\nfrom tilewright_pipeline.stages.stage import StageResult\n"
        "class Compile:\n    consumes, optional, produces = (list,), (), (str,)\n"
        "    def __init__(self, options, context): self.target = context.target\n"
        "    def run(self, values): return StageResult((f'{values[list]} for {self.target}',))\n"
        "class Import(Compile):\n    consumes, produces = (), (list,)\n"
        "    def run(self, values): return StageResult(branches={'a': (['net'],)})\n"
        "@hookimpl\ndef tilewright_stages():\n"
        "    stages = {'compile': Compile, 'import': Import}\n"
        "    return [Component(n, 'toy', lambda kind=kind: kind) for n, kind in stages.items()]\n"
    )
    return PluginHost.load([toy, stage])


def test_compile_runs_the_stage_of_that_name(compiling, tmp_path):
    made = tilewright.compile(["net"], target="toynative", host=compiling)
    assert made == "['net'] for toy:threads=1"
    with pytest.raises(UsageError, match="several networks, expected one"):
        tilewright.compile({}, target="toynative", host=compiling)
    left = {path.name for path in tmp_path.iterdir()} - {"__pycache__"}
    assert left == {"cache", "compiling.py"}


def test_a_stage_that_cannot_be_imported_costs_no_other(compiling, tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text(
        "from tilewright import Component, hookimpl\n"
        "def load():\n    raise ImportError('gone')\n"
        "@hookimpl\ndef tilewright_stages():\n    return [Component('aaa', 'broken', load)]\n"
    )
    host = PluginHost.load([*compiling.files, broken])
    made = tilewright.compile(["net"], target="toynative", host=host)
    assert made == "['net'] for toy:threads=1"


def test_what_no_stage_takes_is_a_model_for_the_import(compiling, tmp_path):
    with pytest.raises(UsageError, match=r"stage 'import': model: unknown key"):
        tilewright.compile(object(), target="toynative", host=compiling)


def test_compile_only_reads_records_and_says_where_there_are_none(compiling, monkeypatch, caplog):
    def refuse(path, what):
        raise UsageError("it may not be written", where=str(path))

    monkeypatch.setattr("tilewright_pipeline.context.run_setup.check_file", refuse)
    tilewright.compile(["net"], target="toynative", records="none.jsonl", host=compiling)
    assert "none.jsonl: no such records file: every config is a fallback" in caplog.messages


def test_names_of_strangers_cannot_steer_the_terminal(host, capsys):
    class Hostile:
        @tilewright.hookimpl
        def tilewright_summary_sections(self, summary):
            return [Section("\x1b[2J[red]t", ("a\x07",), (("\x1b]0;owned\x07[bold]x",),))]

    progress = TerminalProgress()
    loaded = PluginHost.load(host.files, [progress, Hostile()])
    progress.watch(loaded)
    folder = loaded.files[0].parent
    run = RunInfo("\x1b[31mname", folder, Target("toy"), Device("d\x1b"), ("tune",))
    loaded.notify("tilewright_run_started", run=run)
    outcome = StageOutcome("tune\x1b[0m", "ok", 1.0)
    loaded.notify("tilewright_stage_finished", run=run, outcome=outcome)
    empty = {"tasks": []}
    loaded.notify("tilewright_run_finished", run=run, outcome=RunOutcome(0, 1.0, empty))
    captured = capsys.readouterr()
    assert "\x1b" not in captured.out + captured.err
    assert "[red]t" in captured.out
    assert "[bold]x" in captured.out


def test_a_narrow_terminal_breaks_no_name_and_no_number_of_a_table(host, capsys, monkeypatch):
    class Wide:
        @tilewright.hookimpl
        def tilewright_summary_sections(self, summary):
            return [Section("wide", ("name", "ms"), (("n" * 50, "1." + "2" * 40),))]

    progress = TerminalProgress()
    loaded = PluginHost.load(host.files, [progress, Wide()])
    progress.watch(loaded)
    run = RunInfo("r", loaded.files[0].parent, Target("toy"), Device("d"), ("tune",))
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    outcome = RunOutcome(0, 1.0, {"tasks": []})
    loaded.notify("tilewright_run_finished", run=run, outcome=outcome)
    assert f"{'n' * 50}  1.{'2' * 40}" in capsys.readouterr().out


@pytest.mark.parametrize("bad", [lambda: None, lambda: Section("times", ("ms",), ((1.5,),))])
def test_a_bad_section_is_its_plugins_fault_and_costs_no_other_table(host, capsys, bad):
    class Careless:
        @tilewright.hookimpl
        def tilewright_summary_sections(self, summary):
            return [bad()]

    class Careful:
        @tilewright.hookimpl
        def tilewright_summary_sections(self, summary):
            return [Section("whole", ("ms",), (("1.5",),))]

    progress = TerminalProgress()
    loaded = PluginHost.load(host.files, [progress, Careless(), Careful()])
    progress.watch(loaded)
    run = RunInfo("r", loaded.files[0].parent, Target("toy"), Device("d"), ("tune",))
    outcome = RunOutcome(0, 1.0, {"tasks": []})
    loaded.notify("tilewright_run_finished", run=run, outcome=outcome)
    assert [plugin.name for plugin in loaded.plugins if plugin.state == "failed"] == ["Careless"]
    assert "whole" in capsys.readouterr().out


def test_without_a_terminal_tuning_says_a_line_now_and_then(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    progress = TerminalProgress()
    loaded = PluginHost.load([], [progress])
    progress.watch(loaded)
    run = RunInfo("name", tmp_path, Target("toy"), Device("toy0"), ("tune",))
    loaded.notify("tilewright_run_started", run=run)
    told = TuneProgress((), (), None, 1.0, run.device, Budget(trials=20))
    loaded.notify("tilewright_batch_scheduled", progress=told)
    said = capsys.readouterr().err
    assert "left" not in said
    assert "\x1b[?25l" not in said, "the cursor is not hidden"
    monkeypatch.setattr("tilewright_cli.progress.terminal_progress._LINE_EVERY_SECONDS", -1.0)
    loaded.notify("tilewright_batch_scheduled", progress=told)
    assert "tune: 1 s, ? left   total " in capsys.readouterr().err


def test_arguments_of_tune_are_fields_of_the_models_with_their_defaults():
    fields = {
        **PipelineFile.model_fields,
        **MeasureSection.model_fields,
        **TuneOptions.model_fields,
    }
    arguments = dict(inspect.signature(tilewright.tune).parameters)
    own = {"task", "conditions", "host", "foreign_records"}
    assert arguments.keys() - own <= fields.keys()
    assert TuneOptions.model_fields.keys() <= arguments.keys()
    for name in arguments.keys() - own:
        given = arguments[name].default
        assert given is None or given == fields[name].default, name
