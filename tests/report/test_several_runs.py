"""Runs side by side: what changed, and whether it is more than noise."""

from __future__ import annotations

import json

from page_reader import Page

import tilewright
from tilewright.host.plugin_host import PluginHost
from tilewright_report.data.changes import changes
from tilewright_report.data.run_folder import read_run


def quiet(folder, share):
    """The run with times as a quiet machine has them, all longer by a share."""
    report = json.loads((folder / "run.json").read_text())
    for kernel in report["compile"]["kernels"]:
        kernel["seconds"] *= 1 + share
        kernel["samples"] = [kernel["seconds"] * (1 + 0.01 * number) for number in range(5)]
    (folder / "run.json").write_text(json.dumps(report))
    return read_run(folder, PluginHost.load())


def test_two_runs_stand_side_by_side(made):
    page = Page(tilewright.report.html(made(0), made(1)))
    assert page.sections == ["runs", "latency", "changes-1", "totals"]
    assert page.fetched() == []
    assert page.broken_links() == []
    for run in (made(0), made(1)):
        assert run.folder.name in page.text
        median = run.report["benchmark"][0]["tilewright"]["median_ms"]
        assert page.shows(median * 1e3)  # in microseconds, so short is it


def test_a_run_beside_itself_shows_no_difference(result):
    run = read_run(result.folder, PluginHost.load())
    found = changes(run, run)
    assert {change.node for change in found} <= {n for k in run.kernels for n in k.nodes}
    assert len(found) == len(run.kernels)
    # A pause of the machine may end the samples of one before there are enough to tell.
    enough = [change for change in found if change.p is not None]
    assert {change.verdict for change in enough} <= {"no difference"}
    assert all(change.same_config and change.ratio == 1 for change in found)


def test_what_is_slower_by_more_than_noise_is_slower(copied):
    before = quiet(copied, 0.0)
    after = quiet(copied, 0.2)
    assert {change.verdict for change in changes(before, after)} == {"slower"}
    assert {change.verdict for change in changes(after, before)} == {"faster"}
    nearly = quiet(copied, -0.165)  # of what is a fifth longer: nothing but noise
    assert {change.verdict for change in changes(before, nearly)} == {"no difference"}


def test_runs_of_other_networks_share_no_kernels(result, copied):
    report = json.loads((copied / "run.json").read_text())
    for kernel in report["compile"]["kernels"]:
        kernel["nodes"] = [f"other {node}" for node in kernel["nodes"]]
    (copied / "run.json").write_text(json.dumps(report))
    page = Page(tilewright.report.html(result.folder, copied))
    assert "changes-1" not in page.sections
    assert "runs" in page.sections
