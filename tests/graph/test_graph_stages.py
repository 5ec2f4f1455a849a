"""The stages hand on what the next ones ask for, and write run.json's members."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright.vocabulary.record import GraphRecord
from tilewright.vocabulary.task_set import TaskSet
from tilewright_graph.compiled.compiled_network import CompiledNetwork
from tilewright_graph.extraction.extracted_buckets import ExtractedBuckets
from tilewright_graph.extraction.extraction import ExtractedNetwork
from tilewright_graph.frontends.frontend import frontend_for
from tilewright_graph.network.evaluate import evaluate
from tilewright_graph.network.network import Network
from tilewright_graph.ranges.dimension import Dimension
from tilewright_graph.ranges.dimensions import Dimensions
from tilewright_graph.ranges.size_range import SizeRange
from tilewright_graph.selection.graph_tuning import GraphChoice
from tilewright_graph.stages import benchmark_stage
from tilewright_graph.stages.benchmark_stage import BenchmarkOptions, BenchmarkStage
from tilewright_graph.stages.compile_stage import CompileOptions, CompileStage
from tilewright_graph.stages.extract_stage import ExtractOptions, ExtractStage
from tilewright_graph.stages.graph_tune_options import GraphTuneOptions
from tilewright_graph.stages.graph_tune_stage import GraphTuneStage
from tilewright_graph.stages.verify_stage import VerifyOptions, VerifyStage
from tilewright_pipeline.pipeline import Pipeline
from tilewright_tensor.operators.operators import Operators


class Oracle:
    """Answers with references, after `spoil` had its way with the network."""

    spoil = staticmethod(lambda network: network)
    seconds = 2e-3

    def __init__(self, options, host):
        self.operators = Operators.of(host)

    def run(self, source, inputs, extra_outputs):
        found = evaluate(type(self).spoil(source), inputs, self.operators)
        return {name: array.astype(np.float32) for name, array in found.items()}

    def time(self, source, inputs, threads):
        return lambda: self.seconds


@pytest.fixture
def values(residual, context):
    """What stands ready behind `compile`."""
    found = {Network: residual}
    for stage in (ExtractStage(ExtractOptions(), context), CompileStage(CompileOptions(), context)):
        found.update({type(value): value for value in stage.run(found).values})
    return found


@pytest.fixture
def with_oracle(context, monkeypatch):
    real = type(context.host).choose

    def choose(host, role, choice, made_from):
        return Oracle({}, host) if role == "oracle" else real(host, role, choice, made_from)

    monkeypatch.setattr(type(context.host), "choose", choose)
    return Oracle


def verify(values, context):
    options = VerifyOptions(oracle=Choice(name="references"), rtol=1e-4)
    return VerifyStage(options, context).run(values)


def test_extract_makes_tasks_and_compile_a_saved_network(values, context):
    assert isinstance(values[TaskSet], TaskSet)
    assert isinstance(values[ExtractedNetwork], ExtractedNetwork)
    again = CompiledNetwork.load(context.folder / "network", context.host)
    assert again.outputs == values[CompiledNetwork].outputs


def test_compile_reports_the_prediction(residual, context):
    extracted = ExtractStage(ExtractOptions(), context).run({Network: residual}).values[0]
    report = CompileStage(CompileOptions(), context).run({ExtractedNetwork: extracted}).report
    assert report["prediction"]["network_ms"] == pytest.approx(1.0)
    assert report["prediction"]["share_without_record"] == 1.0


def test_compile_says_where_configs_came_from_and_what_the_arena_takes(
    values, context, caplog, measured
):
    caplog.set_level("INFO", "tilewright")
    stage = CompileStage(CompileOptions(), context)
    kernels = len(values[ExtractedNetwork].kernels)
    made = stage.run(values).report["compile"]
    assert made["configs"] == {"graph choice": 0, "history": 0, "fallback": kernels}
    assert made["arena_bytes"] >= made["arena_bound_bytes"] > 0
    said = f"{kernels} kernels (0 by graph choice, 0 by history, {kernels} by fallback), 0 layout"
    assert said in caplog.text
    choice = GraphTuneStage(GraphTuneOptions(), context).run(values).values[0]
    made = stage.run({**values, GraphChoice: choice}).report["compile"]
    assert made["configs"] == {"graph choice": kernels, "history": 0, "fallback": 0}


def test_a_frozen_run_names_the_layout_transforms_without_a_record(
    chain, context, record, measured
):
    """The kernels have records in blocks of eight, as `tune` leaves them."""
    for kernel in chain.kernels:
        record(kernel.task, 8, 1e-6)
    compiling = CompileStage(CompileOptions(), replace(context, frozen="sha256:"))
    with pytest.raises(UsageError) as told:
        compiling.run({ExtractedNetwork: chain})
    head, *each = told.value.each
    assert "measure these layout transforms by graph-tune" in head.remedy
    assert [error.message for error in each] == [
        "no record of layout_transform(1x8x6x6, src=NCHW, dst=NHWC)",
        "no record of layout_transform(1x8x3x3, src=NHWC, dst=NCHW)",
    ]
    GraphTuneStage(GraphTuneOptions(), context).run({ExtractedNetwork: chain})
    assert compiling.run({ExtractedNetwork: chain}).report["compile"]["transforms"] == 2


def test_a_choice_that_is_not_proved_is_told_of_every_bucket(
    chain, context, record, measured, caplog
):
    for kernel in chain.kernels:
        record(kernel.task, 8, 1e-6)
    dimensions = Dimensions((Dimension("batch", SizeRange(1, 4), {}, independent=True),))
    main = replace(chain, network=replace(chain.network, name="main"))
    buckets = ExtractedBuckets(dimensions, {(2,): chain, (4,): main})
    options = GraphTuneOptions(graph_tuner=Choice("greedy"), proof=True)
    found = {ExtractedNetwork: main, ExtractedBuckets: buckets}
    assert GraphTuneStage(options, context).run(found).partial
    for name in (main.name, f"{chain.name} with batch=2"):
        assert f"{name}: the choice is not proved to be the best" in caplog.text


@pytest.mark.parametrize(
    ("left_out", "why"),
    [({"frozen": "sha256:"}, "the run is frozen"), ({"unmeasured": True}, "the effort is 0")],
)
def test_a_proof_and_a_picture_that_there_cannot_be_are_told(chain, context, caplog, left_out, why):
    stage = replace(context, **left_out)
    found = {ExtractedNetwork: chain}
    assert not GraphTuneStage(GraphTuneOptions(), stage).run(found).partial
    assert caplog.text == ""
    options = GraphTuneOptions(proof=True, svg=str(context.folder / "here.svg"))
    assert GraphTuneStage(options, stage).run(found).partial
    assert f"chain: nothing is proved and nothing is drawn, as {why}" in caplog.text


def test_memory_is_not_written_anew_before_the_targets_reuse_distance(values, context, monkeypatch):
    def arena(distance):
        def told(_backend, _device, _target):
            return distance

        backend = type(context.host.backend(context.target.kind))
        monkeypatch.setattr(backend, "reuse_distance", told, raising=False)
        return CompileStage(CompileOptions(), context).run(values).report["compile"]["arena_bytes"]

    assert arena(0) < arena(1 << 30)


def test_verify_passes_right_answers(values, context, with_oracle):
    result = verify(values, context)
    assert result.ok
    assert result.report["verify"]["passed"]
    assert result.report["verify"]["max_rel_error"] < 1e-5


def zeroed(operator, index):
    """A network with one output channel's weights of one layer zero."""

    def spoil(network):
        from dataclasses import replace

        layers = [node for node in network.nodes if node.operator == operator]
        name = layers[index].inputs[1]
        weight = network.constants[name].copy()
        weight[0] = 0.0
        return replace(network, constants={**network.constants, name: weight})

    return spoil


def shifted_pad(network):
    from dataclasses import replace

    nodes = list(network.nodes)
    at = next(i for i, n in enumerate(nodes) if n.operator == "conv2d")
    nodes[at] = replace(nodes[at], attributes={**nodes[at].attributes, "padding": [0, 0, 2, 2]})
    return replace(network, nodes=tuple(nodes))


def dropped_residual(network):
    from dataclasses import replace

    nodes = list(network.nodes)
    at = next(i for i, n in enumerate(nodes) if n.operator == "add")
    nodes[at] = replace(nodes[at], operator="identity", inputs=nodes[at].inputs[:1])
    return replace(network, nodes=tuple(nodes))


@pytest.mark.parametrize(
    "spoil",
    [*(zeroed("conv2d", i) for i in range(4)), zeroed("dense", 0), shifted_pad, dropped_residual],
)
def test_verify_fails_for_one_wrong_layer(values, context, with_oracle, monkeypatch, spoil):
    monkeypatch.setattr(with_oracle, "spoil", staticmethod(spoil))
    result = verify(values, context)
    assert not result.ok
    assert not result.report["verify"]["passed"]


def test_verify_refuses_an_unfit_oracle(values, context, with_oracle, monkeypatch):
    def flat(network):
        from dataclasses import replace

        constants = {name: np.full_like(array, 0.02) for name, array in network.constants.items()}
        return replace(network, constants=constants)

    monkeypatch.setattr(with_oracle, "spoil", staticmethod(flat))
    with pytest.raises(UsageError, match="unfit"):
        verify(values, context)


def test_verify_fails_where_an_answer_is_not_finite(values, context, with_oracle, caplog):
    class Broken:
        precision, max_error = "float32", None

        def observe(self, inputs):
            answers = values[CompiledNetwork].observe(inputs)
            next(iter(answers.values()))[0, 0] = np.nan
            return answers

    result = verify({**values, CompiledNetwork: Broken()}, context)
    assert not result.ok
    assert result.report["verify"] == {
        "oracle": "references", "rtol": 1e-4, "max_abs_error": None, "max_rel_error": None,
            "passed": False,
    }  # fmt: skip
    assert "'softmax' against references: an answer is not finite" in caplog.text


def test_verify_names_the_tensor_and_both_numbers(
    values, context, with_oracle, monkeypatch, caplog
):
    monkeypatch.setattr(with_oracle, "spoil", staticmethod(zeroed("dense", 0)))
    verify(values, context)
    assert "expected at most 0.0001" in caplog.text


def test_a_network_with_a_source_is_verified_against_that(values, context, with_oracle, residual):
    from dataclasses import replace

    sourced = replace(residual, name="empty", nodes=(), source=residual)
    assert verify({**values, Network: sourced}, context).ok


def test_benchmark_times_everyone_as_often(values, context, with_oracle):
    options = BenchmarkOptions(peers=("them",), runs=23, warmup=1)
    report = BenchmarkStage(options, context).run(values).report
    (entry,) = report["benchmark"]
    assert entry["threads"] == 1
    assert entry["tilewright"]["runs"] == entry["peers"]["them"]["runs"] == 23
    assert entry["peers"]["them"]["median_ms"] == 2.0
    assert report["prediction"] == {"network_ms": 1.0}


def test_before_a_turn_the_threads_of_who_had_the_last_one_go_to_sleep(
    values, context, with_oracle, monkeypatch
):
    happened: list[str] = []
    monkeypatch.setattr(benchmark_stage.time, "sleep", lambda seconds: happened.append("rest"))
    theirs = with_oracle.time

    def time(self, source, inputs, threads):
        timed = theirs(self, source, inputs, threads)
        return lambda: happened.append("them") or timed()

    monkeypatch.setattr(with_oracle, "time", time)
    ours = CompiledNetwork.time
    monkeypatch.setattr(CompiledNetwork, "time", lambda self: happened.append("us") or ours(self))
    BenchmarkStage(BenchmarkOptions(peers=("them",), runs=20, warmup=1), context).run(values)
    turns = [who for who, _ in groupby(happened)]
    assert turns[-8:] == ["rest", "us", "rest", "them"] * 2


def test_a_peer_named_twice_is_refused():
    with pytest.raises(ValueError, match="expected each name once"):
        BenchmarkOptions(peers=("them", "them"))


def test_benchmark_runs_slow_networks_less_often(values, context, with_oracle, monkeypatch):
    monkeypatch.setattr(with_oracle, "seconds", 0.5)
    options = BenchmarkOptions(peers=("them",), seconds=3.0)
    (entry,) = BenchmarkStage(options, context).run(values).report["benchmark"]
    assert entry["tilewright"]["runs"] == entry["peers"]["them"]["runs"] == 5


@pytest.mark.parametrize("model", ["some/model.onnx", "onnx-light:resnet50"])
def test_a_model_whose_frontend_is_blocked_comes_with_whose_it_is(monkeypatch, model):
    monkeypatch.setenv("TILEWRIGHT_BLOCK_PLUGINS", "onnx")
    with pytest.raises(UsageError, match=r"\n  tilewright-onnx does, and is not loaded"):
        frontend_for(model, PluginHost.load())
    with pytest.raises(UsageError, match="known: zoo:"):
        frontend_for("onnx/model.pb", PluginHost.load())


def test_compiling_alone_measures_nothing_and_leaves_the_graph_tuner_out(tmp_path):
    """What it chose is found in the records."""
    stages = [{"import": {"model": "zoo:resnet-18"}}, {"extract": {}}, {"tune": {}}]
    stages += [{"graph-tune": {}}, {"compile": {}}]
    plugins = [str(Path(__file__).with_name("paper_target.py"))]
    content = {"version": 1, "target": "paper", "plugins": plugins, "stages": stages}
    (tmp_path / "net.yaml").write_text(json.dumps(content))
    alone = Pipeline.load(tmp_path / "net.yaml", only="compile")
    assert [stage.name for stage in alone.plan.stages] == ["import", "extract", "compile"]
    tuned = Pipeline.load(tmp_path / "net.yaml", only="graph-tune")
    assert [stage.name for stage in tuned.plan.stages] == ["import", "extract", "graph-tune"]


def test_graph_choices_of_another_target_are_said_to_be_so(context, caplog, residual):
    extracted, _ = ExtractStage(ExtractOptions(), context).run({Network: residual}).values
    kernel = extracted.kernels[0]
    task = replace(kernel.task, target=context.target.replace(threads=7))
    config = context.host.fallback_config(task, context.host.space(task, "paper"))
    fingerprint = context.device.fingerprint
    context.store.append([GraphRecord("other", task, config, "paper", fingerprint, 1)])
    CompileStage(CompileOptions(), context)._warn_of_strangers(extracted)
    assert "are of other targets (paper:threads=7; this is paper)" in caplog.text
