"""Networks whose error is bounded: bfloat16 where it pays and the bound allows it. Emulated."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

import tilewright
from tilewright.errors import UsageError
from tilewright.space.config_space import ConfigSpace
from tilewright.vocabulary.measure import MeasureInput, MeasureResult, Trial
from tilewright.vocabulary.record import ErrorBound, Record
from tilewright_graph.extraction.extraction import ExtractedNetwork, extract
from tilewright_graph.network.network import Network
from tilewright_graph.passes.graph_pass import GraphPassEntry, apply_passes
from tilewright_graph.stages.import_stage import ImportOptions, ImportStage
from tilewright_pipeline.run.run_report import SCHEMA_FILE
from tilewright_records.store.store import JsonlRecordStore
from tilewright_tensor.operators.operators import Operators

FILE = """\
version: 1
name: bounded
target: {kind: x86, isa: avx512_bf16, threads: 1}
precision: bfloat16
records: r.jsonl
measure: {repeat: 3, min_repeat_ms: 0}
stages:
  - import:     {model: tiny.onnx}
  - extract:    {}
  - graph-tune: {graph_tuner: exact}
  - compile:    {}
  - verify:     {oracle: onnxruntime}
"""
EXACT_SECONDS, LOWER_SECONDS = 1e-2, 4e-3


@pytest.fixture
def tuned(folder: Path) -> Path:
    """`bounded.yaml`, and records by which whatever can be in bfloat16 is faster so."""
    (folder / "bounded.yaml").write_text(FILE)
    context = tilewright.Pipeline.load("bounded.yaml").context(device="emulated")
    records = []
    for task in dict.fromkeys(kernel.task for kernel in extracted(context).kernels):
        space = context.host.space(task)
        for precision, seconds in (("float32", EXACT_SECONDS), ("bfloat16", LOWER_SECONDS)):
            own = [
                alternative
                for alternative in space.alternatives
                if context.host.strategy(alternative.name).precision == precision
            ]
            if own:
                config = context.host.fallback_config(task, ConfigSpace(own))
                conditions = context.conditions.for_task(task)
                trial = Trial(MeasureInput(task, config, conditions), MeasureResult((seconds,)))
                revision = context.host.strategy(config.strategy).revision
                records.append(Record.of(trial, context.device, revision))
    context.store.append(records)
    return folder


def extracted(context) -> ExtractedNetwork:
    operators = Operators.of(context.host)
    imported = ImportStage(ImportOptions(model="tiny.onnx"), context).run({})
    network: Network = imported.values[0]
    passes = context.host.hook_values("tilewright_graph_passes", GraphPassEntry)
    return extract(apply_passes(network, passes, operators), context.target, operators)


def run(call, *arguments, code=0):
    """run.json of a run of the file on the emulated device."""
    found, out, err = call("run", "bounded.yaml", "--device", "emulated", "--json", *arguments)
    assert found == code, err
    report = json.loads(out)
    jsonschema.validate(report, json.loads(SCHEMA_FILE.read_text()))
    return report


def within(error: float) -> tuple[str, ...]:
    return "--set", f"graph-tune.max_error={error!r}"


def test_the_fastest_choice_within_the_bound_is_taken(tuned, call):
    free = run(call)
    unbounded = free["verify"]["max_rel_error"]
    assert "error" not in free["graph"]
    assert free["graph"]["precisions"]["bfloat16"] >= 3

    loose = run(call, *within(0.5))
    assert loose["graph"]["precisions"] == free["graph"]["precisions"]
    assert loose["graph"]["cost_ms"] == pytest.approx(free["graph"]["cost_ms"], rel=1e-3)
    assert loose["graph"]["error"]["measured"] >= unbounded

    tight = run(call, *within(1e-5))
    assert set(tight["graph"]["precisions"]) == {"float32"}
    assert tight["verify"]["max_rel_error"] < 1e-5

    bound = loose["graph"]["error"]["measured"] / 2
    mixed = run(call, *within(bound))
    assert set(mixed["graph"]["precisions"]) == {"float32", "bfloat16"}
    error, costs = mixed["graph"]["error"], [r["graph"]["cost_ms"] for r in (free, mixed, tight)]
    assert error["float32"] < error["measured"] <= bound == error["max_error"]
    assert costs == sorted(costs)
    assert costs[0] < costs[1] < costs[2]
    verify = mixed["verify"]
    assert verify["passed"], "its tolerance is the bound"
    assert verify["rtol"] == verify["max_error"] == bound
    assert verify["max_rel_error"] <= error["measured"], "graph-tune looked at that input too"
    assert mixed["compile"]["configs"]["graph choice"] == sum(mixed["graph"]["precisions"].values())


def test_the_choice_stands_in_the_records_with_what_each_kernel_adds(tuned, call):
    run(call, *within(2e-3))
    before = (tuned / "r.jsonl").read_bytes()
    again = run(call, *within(2e-3))
    assert again["measurement"]["trials"] == 0
    assert (tuned / "r.jsonl").read_bytes() == before, "run again, it writes nothing"

    told = call("explain", "bounded.yaml", "--device", "emulated", "classifier", "--json")[1]
    (node,) = json.loads(told)["nodes"]
    assert node["lowering"]["max_error"] == 2e-3
    assert node["lowering"]["lower"] == "bfloat16"
    assert node["lowering"]["saves_ms"] == pytest.approx((EXACT_SECONDS - LOWER_SECONDS) * 1e3)
    assert 0 < node["lowering"]["adds_error"] < 0.1
    text = call("explain", "bounded.yaml", "--device", "emulated", "classifier")[1]
    assert "bfloat16 saves 6.000 ms here against float32 and adds an error of" in text
    assert "of 0.002 allowed" in text


def test_a_bounded_choice_is_compiled_though_the_records_know_a_faster_one(tuned, call):
    run(call, *within(1e-5))
    code, out, err = call("compile", "bounded.yaml", "--device", "emulated", "--json")
    assert code == 0
    assert "passed over" not in err
    configs = json.loads(out)["compile"]["configs"]
    assert (configs["history"], configs["fallback"]) == (0, 0)
    network = tuned / "runs/bounded/network"
    manifest = json.loads((network / "manifest.json").read_text())
    assert (manifest["signature"]["precision"], manifest["signature"]["max_error"]) == (
        "float32",
        1e-5,
    )
    model = ("--model", "tiny.onnx", "--device", "emulated", "--json")
    code, out, _ = call("network", "verify", str(network), *model)
    assert (code, json.loads(out)["rtol"], json.loads(out)["max_error"]) == (0, 1e-5, 1e-5)


def test_verify_says_that_the_error_is_above_the_bound(tuned, call, caplog):
    run(call)
    store = JsonlRecordStore(tuned / "r.jsonl")
    context = tilewright.Pipeline.load("bounded.yaml").context(device="emulated")
    choices = store.graph_choices(context.device.fingerprint, context.host.revisions)
    lying = [replace(choice, bound=ErrorBound(1e-5, {})) for choice in choices.values()]
    store.append(lying)
    (tuned / "bounded.yaml").write_text(FILE.replace("  - graph-tune: {graph_tuner: exact}\n", ""))
    assert run(call, code=1)["verify"]["passed"] is False
    assert run(call, "--set", "verify.rtol=0.1")["verify"]["passed"] is True
    assert "is above max_error 1e-05 of graph-tune" in caplog.text


def test_a_solver_that_cannot_keep_a_bound_is_refused_when_the_file_is_read(folder):
    (folder / "bounded.yaml").write_text(FILE.replace("exact", "pbqp, max_error: 1.0e-2"))
    with pytest.raises(UsageError) as refused:
        tilewright.Pipeline.load("bounded.yaml")
    told, remedy = str(refused.value).splitlines()
    assert told.endswith("graph tuner 'pbqp' cannot keep to a bound on the network's error")
    assert told.startswith("bounded.yaml:10:")
    assert remedy == "  choose one that can: graph_tuner: exact or exhaustive"


def test_the_bound_is_a_flag_of_graph_tune(tuned, call):
    flags = ("--max-error", "1e-5", "--graph-tuner", "exhaustive")
    code, out, err = call("graph-tune", "bounded.yaml", "--device", "emulated", "--json", *flags)
    assert code == 0, err
    assert json.loads(out)["graph"]["error"]["max_error"] == 1e-5
    assert json.loads(out)["graph"]["tuner"] == "exhaustive"
