"""The page of a real run has every part, says what run.json says, and needs nothing else."""

from __future__ import annotations

import json

import jsonschema
import numpy as np
import onnxruntime
import pytest
import yaml
from page_reader import Page

import tilewright
from tilewright.host.plugin_host import PluginHost
from tilewright_pipeline.run.run_report import SCHEMA_FILE
from tilewright_report.charts.parallel import parallel
from tilewright_report.data.run_folder import read_run
from tilewright_report.markup.words import MISSING, microseconds, percent


@pytest.fixture(scope="module")
def text(result):
    return tilewright.report.html(result)


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


@pytest.fixture(scope="module")
def report(result):
    return json.loads((result.folder / "run.json").read_text())


def test_it_has_every_part_in_order(page):
    parts = ["run", "latency", "kernels", "layouts", "tuning", "landscape"]
    assert page.sections == parts
    assert [a["href"] for a in page.tags("a")][: len(parts)] == [f"#{part}" for part in parts]


def test_it_needs_nothing_else_and_is_small(page, text):
    assert page.fetched() == []
    assert page.handlers() == []
    assert "http://" not in text.replace("http://www.w3.org/", "")
    assert "https://" not in text
    assert len(text.encode()) < 2_000_000


def test_its_links_lead_somewhere_and_its_fragments_are_distinct(page):
    assert page.broken_links() == []
    assert len(set(page.ids)) == len(page.ids)


def test_the_stage_has_written_it(result):
    written = (result.folder / "report.html").read_text()
    assert Page(written).sections[:2] == ["run", "latency"]


def test_it_says_what_was_run_and_measured(page, report):
    ours = report["benchmark"][0]["tilewright"]
    assert page.shows(ours["median_ms"] * 1e3)  # in microseconds, so short is it
    for told in (
        report["target"],
        "onnxruntime",
        "seed",
        "tiny.onnx",
    ):
        assert told in page.text
    for task in report["tasks"]:
        assert task["strategy"] in page.text


def test_every_kernel_opens_with_its_config_alternatives_program_and_code(page, result):
    run = read_run(result.folder, PluginHost.load())
    folded = [a["id"] for a in page.tags("details") if a.get("id", "").startswith("kernel-")]
    assert folded == [kernel.anchor for kernel in run.kernels]
    assert len(folded) >= 5
    for kernel in run.kernels:
        assert kernel.text in page.text or len(kernel.text) > 300
        for node in kernel.nodes:
            assert node in page.text
    assert page.text.count("Loop program,") == len(folded)
    assert page.text.count("Generated code,") == len(folded)
    assert "kernel " in page.text
    assert "define void @" in page.text  # LLVM IR


def test_kernels_add_up_to_the_prediction(result, report):
    run = read_run(result.folder, PluginHost.load())
    total = sum(kernel.total for kernel in run.kernels) * 1e3
    assert total == pytest.approx(report["prediction"]["sum_of_kernels_ms"])
    assert sum(kernel.share for kernel in run.kernels) == pytest.approx(1)
    assert [k.total for k in run.kernels] == sorted((k.total for k in run.kernels), reverse=True)


def test_the_curve_over_trials_ends_at_the_sum_of_the_best(result, report):
    run = read_run(result.folder, PluginHost.load())
    curve = run.tuned.totals()
    least = sum(
        each.weight * min(point.seconds for point in each.points if point.seconds)
        for each in run.tuned.tasks
    )
    assert curve[-1] == (pytest.approx(run.tuned.trials), pytest.approx(least))
    totals = [total for _, total in curve]
    assert totals == sorted(totals, reverse=True)


def test_the_pipeline_to_run_it_again_is_that_which_was_run(text, result, tmp_path):
    _, _, rest = text.partition("<pre><code>version: 1")
    (tmp_path / "again.yaml").write_text("version: 1" + rest.partition("</code>")[0])
    again = tilewright.Pipeline.load(tmp_path / "again.yaml").plan
    stages = [(stage.name, stage.options) for stage in again.stages]
    written = yaml.safe_load((tmp_path / "again.yaml").read_text())
    assert [name for name, _ in stages] == [stage["name"] for stage in result.report["stages"]]
    assert dict(stages)["tune"].budget.trials == 90
    assert written["measure"]["repeat"] == 3


def test_run_json_keeps_to_its_schema(report):
    jsonschema.validate(report, json.loads(SCHEMA_FILE.read_text()))
    nodes = [node for kernel in report["compile"]["kernels"] for node in kernel["nodes"]]
    counted = sum(report["compile"]["configs"].values())
    assert len(nodes) == counted + report["compile"]["transforms"]
    # A pause of the machine may end the samples of one before there are three.
    assert all(kernel["samples"] for kernel in report["compile"]["kernels"])
    samples = report["benchmark"][0]["tilewright"]["samples_ms"]
    assert len(samples) == report["benchmark"][0]["tilewright"]["runs"]
    assert (report["setup"]["records"], report["setup"]["seed"]) == ("records.jsonl", 0)


def test_the_pipeline_to_run_it_again_names_devices_store_and_plugin_files(changed, copied):
    def with_plugins(report):
        report["setup"] |= {
            "device": "cpu*",
            "plugins": ["../mine.py"],
            "record_store": {"kept": {"suffix": ".mine"}},
        }

    text = changed(with_plugins).text
    assert "device: cpu*" in text
    assert "record_store: kept: suffix: .mine" in text
    assert f"plugins: - {copied.parent / 'mine.py'}" in text


def test_it_names_the_versions_of_those_that_it_was_compared_with(page, report):
    versions = report["setup"]["versions"]
    assert versions["numpy"] == np.__version__
    assert f"tilewright {versions['tilewright']}, python {versions['python']}" in page.text
    assert f", onnxruntime {onnxruntime.__version__}" in page.text


def in_bfloat16(peaks):
    """Changes a report: its largest product is one of bfloat16 at 1.6 TFLOP/s."""

    def change(report):
        kernel = max(report["compile"]["kernels"], key=lambda one: one["operations"])
        kernel |= {"precision": "bfloat16", "seconds": kernel["operations"] / 1.6e12}
        report["device"]["peaks"] = {name: {"1": flops} for name, flops in peaks.items()}

    return change


def test_products_of_a_precision_stand_under_the_roof_of_its_fastest_instruction(changed):
    peaks = {"bfloat16/vdpbf16ps": 4e11, "bfloat16/tdpbf16ps": 3.2e12, "int8/tdpbusd": 6.4e12}
    text = changed(in_bfloat16(peaks)).text
    assert "in bfloat16, 50 % of the peak" in text
    assert "bfloat16 3,200 GFLOP/s" in text
    roofs = [
        peak for peak in ("float32, ", "bfloat16, 3,200", "bfloat16, 400", "int8, ") if peak in text
    ]
    assert roofs == ["float32, ", "bfloat16, 3,200"]


def test_a_precision_whose_peak_is_unknown_has_no_share_of_another_ones(changed):
    text = changed(in_bfloat16({})).text
    assert "in bfloat16" in text
    assert "in bfloat16, " not in text


def test_it_tells_the_times_in_turns_with_the_untuned_network(changed):
    told = {"tuned_ms": 2.5, "untuned_ms": 1.25, "pairs": 9, "kept": "untuned"}

    def change(report):
        report["graph"]["beside_untuned"] = told

    text = changed(change).text
    assert "as chosen took 2.500 ms, as nobody tuned it 1.250 ms; the untuned one is kept" in text


def test_knobs_in_parallel_are_in_the_order_of_their_numbers():
    values = ["auto", "16x1", "2x8", "4x4", "8", "1x32"]
    drawn = parallel(["tile"], [({"tile": value}, "s0", "") for value in values], "knobs")
    _, *marks = (text.text for text in drawn.iter("text"))
    assert marks == ["16x1", "4x4", "8", "2x8", "1x32", "auto"]


def test_small_amounts_are_not_rounded_to_nothing():
    seconds = (2e-4, 2.34e-5, 2.345e-6, 6.78e-8, 0.0, None)
    assert [microseconds(s) for s in seconds] == ["200.0", "23.4", "2.35", "0.068", "0.0", MISSING]
    told = [percent(share, 1) for share in (0.123, 0.0004, 0.0, None)]
    assert told == ["12.3 %", "< 0.1 %", "0.0 %", MISSING]
