"""Pages of runs of several networks, and of runs of different ones side by side."""

from __future__ import annotations

import json
import shutil

import pytest
import yaml
from page_reader import Page

import tilewright

SHARED = ("import", "extract", "tune")
BRANCHES = ("one", "two")


def content_of(name):
    return {"name": name, "origin": f"{name}.onnx", "content": name}


@pytest.fixture
def several(result, tmp_path):
    """several(folder): a run of two networks, each as far as pages go a copy of the tiny one's."""

    def make(folder="several"):
        top = tmp_path / folder
        shutil.copytree(result.folder, top)
        report = json.loads((top / "run.json").read_text())
        for name in BRANCHES:
            (top / name).mkdir()
            own = {**report, "name": name}
            own["stages"] = [s for s in report["stages"] if s["name"] not in SHARED]
            own["setup"] = {**report["setup"], "records": "../records.jsonl"}
            own.pop("models")
            (top / name / "run.json").write_text(json.dumps(own))
        kept = ("version", "target", "device", "setup", "tasks", "measurement", "tuning_curve")
        whole = {name: report[name] for name in kept} | {"name": "several"}
        whole["models"] = [content_of(name) for name in BRANCHES]
        whole["stages"] = [stage for stage in report["stages"] if stage["name"] in SHARED]
        (top / "run.json").write_text(json.dumps(whole))
        return top

    return make


def test_a_run_of_several_networks_has_a_row_for_each_and_its_parts(several):
    text = tilewright.report.html(several())
    page = Page(text)
    assert page.sections[:2] == ["run", "networks"]
    assert {f"network-{place}-{part}" for place in (0, 1) for part in ("latency", "kernels")} < set(
        page.ids
    )
    assert len(set(page.ids)) == len(page.ids)
    assert page.broken_links() == []
    links = [a["href"] for a in page.tags("a")]
    assert links.count("#network-1") == 2  # of the navigation and of the row


def test_a_network_that_the_run_did_not_come_to_says_so(several):
    folder = several()
    report = json.loads((folder / "two" / "run.json").read_text())
    for part in ("compile", "benchmark", "graph", "prediction"):
        report.pop(part)
    (folder / "two" / "run.json").write_text(json.dumps(report))
    (folder / "layouts.svg").unlink()
    page = Page(tilewright.report.html(folder))
    assert "The run ended before anything was known of it." in page.text
    assert page.broken_links() == []


def test_the_pipeline_to_run_them_again_has_the_stages_of_all(several, result):
    _, _, rest = tilewright.report.html(several()).partition("<pre><code>version: 1")
    written = yaml.safe_load("version: 1" + rest.partition("</code>")[0])
    stages = [name for stage in written["stages"] for name in stage]
    assert stages == [stage["name"] for stage in result.report["stages"]]


def test_the_page_of_one_of_them_offers_no_pipeline_without_the_stages_before(several):
    assert "To run it again" in tilewright.report.html(several())
    assert "To run it again" not in tilewright.report.html(several("again") / BRANCHES[0])


def test_two_runs_of_several_networks_are_compared_network_by_network(several):
    page = Page(tilewright.report.html(several("a"), several("b")))
    parts = ["latency", "changes-1"]
    expected = [f"network-{place}-{part}" for place in (0, 1) for part in parts]
    assert page.sections == ["runs", *expected, "totals"]
    assert "Kernel by kernel, two" in page.text
    assert page.broken_links() == []


@pytest.fixture
def other(copied):
    """The run, as one of another network: nodes that are called alike compute something else."""
    report = json.loads((copied / "run.json").read_text())
    report["models"] = [content_of("another")]
    first, *rest = report["compile"]["kernels"]
    for number, kernel in enumerate(rest):
        kernel["task"] = f"{number:016x}"
    (copied / "run.json").write_text(json.dumps(report))
    return copied, first


def test_of_different_networks_only_tasks_that_both_have_are_compared(result, other):
    folder, shared = other
    page = Page(tilewright.report.html(result.folder, folder))
    assert "The runs are of different networks" in page.text
    assert "of 1 pair of kernels" in page.text
    assert shared["nodes"][0] in page.text
    assert "latency" in page.sections
    assert "that two are equally fast" not in page.text
    assert "another.onnx" in page.text
