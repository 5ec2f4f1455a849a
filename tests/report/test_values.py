"""What has a page besides a run's folder, and what a notebook shows of it."""

from __future__ import annotations

import importlib.metadata

import pytest
from page_reader import Page

import tilewright
from tilewright.host.plugin_host import PluginHost
from tilewright.space.config_space import ConfigSpace
from tilewright.space.knobs import Knobs
from tilewright_graph.compiled.compiled_network import CompiledNetwork
from tilewright_pipeline.context.events import TuneOutcome
from tilewright_pipeline.tuning.tune_report import TuneReport

TASK = "dense(1x64, 10x64)"


@pytest.fixture(scope="module")
def values(result, tmp_path_factory):
    """One of each."""
    folder = tmp_path_factory.mktemp("values")
    tuned = tilewright.tune(
        TASK, target="x86:threads=1", tuner="random", budget=12, records=folder / "r.jsonl"
    )
    knobs = Knobs("mine/<b>")
    knob = knobs.define_knob("wide", list(range(40)))
    knobs.constrain(knob <= 30)
    outcome = TuneOutcome(3, 1, None, 1e-3, "budget", name="a task")
    report = TuneReport({"0" * 16: outcome}, {"trials": 3, "split": {"time": 1.0}})
    return {
        "run": result,
        "tune": tuned,
        "stage": report,
        "space": ConfigSpace([knobs.alternative()]),
        "network": CompiledNetwork.load(result.folder / "network"),
    }


PARTS = {
    "run": "What was run",
    "tune": TASK,
    "stage": "a task",
    "space": "31",
    "network": "softmax",
}


@pytest.mark.parametrize("name", PARTS)
def test_a_value_has_a_page_and_a_notebook_shows_it_in_a_frame(name, values):
    value = values[name]
    text = tilewright.report.html(value)
    page = Page(text)
    assert PARTS[name] in page.text
    assert page.fetched() == []
    assert page.broken_links() == []
    frame = Page(f"<!DOCTYPE html>\n{value._repr_html_()}")
    assert [tag for tag, _ in frame.elements] == ["iframe"]
    assert frame.elements[0][1]["srcdoc"] == text


def test_a_tuning_report_alone_has_no_empty_parts(values):
    assert Page(tilewright.report.html(values["stage"])).sections == ["tuning"]


def test_a_tuned_task_shows_its_trials(values):
    page = Page(tilewright.report.html(values["tune"]))
    assert {"tuning", "landscape"} <= set(page.sections)


def test_without_a_plugin_that_draws_a_notebook_shows_the_text(values, monkeypatch):
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: [])
    monkeypatch.setattr("tilewright.notebook.entry_points", lambda **_: [])
    assert [value._repr_html_() for value in values.values()] == [None] * len(values)


def test_other_values_have_none(result):
    with pytest.raises(TypeError, match="a dict has no page"):
        tilewright.report.html({})
    with pytest.raises(TypeError, match="expected a run or its folder"):
        tilewright.report.html(result, {})


def test_several_pages_are_written_where_they_are_asked_for(result, tmp_path):
    path = tilewright.report.write(result, tmp_path / "deep" / "page.html")
    assert Page(path.read_text()).sections[0] == "run"
    both = tilewright.report.write([result, result.folder], tmp_path / "both.html")
    assert Page(both.read_text()).sections[0] == "runs"


def test_every_target_shows_its_code(result):
    host = PluginHost.load()
    for kind, word in (("x86:threads=1", "define void"), ("cuda:arch=sm_86", "__global__")):
        target = host.resolve_target(kind)
        workload = host.reference("dense").parse("(8x8, 8x8)", TASK)
        task = tilewright.Task(workload, target)
        config = host.fallback_config(task, host.space(task))
        program = host.lower(task, config)
        assert word in host.backend(target.kind).code_text(program, target)
