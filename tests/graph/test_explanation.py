"""Why a node has the layouts it has."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.measure import Failure, FailureKind, MeasureInput, MeasureResult, Trial
from tilewright.vocabulary.record import Record
from tilewright_cli.terminal.group import run
from tilewright_graph.extraction.extraction import extract
from tilewright_graph.extraction.transforms import TRANSFORM
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.reports.explanation import Explainer
from tilewright_graph.selection.assembly import assemble
from tilewright_graph.selection.graph_tuning import tune_graph
from tilewright_graph.selection.solvers.exhaustive import ExhaustiveOptions, ExhaustiveTuner
from tilewright_tensor.operators.operators import Operators


@pytest.fixture
def extracted(context, measured, record):
    """Three poolings tuned: 1 us in blocks of 8, of 4, of 8; 2 us otherwise; transforms 10 us."""
    b = NetworkBuilder("chain")
    y = b.input("x", (1, 8, 6, 6))
    for size in (2, 3, 1):
        y = b.max_pool2d(y, pool_size=size, name=f"pool{size}")
    extracted = extract(b.network([y]), context.target, Operators.of(context.host))
    for kernel, fast in zip(extracted.kernels, (8, 4, 8), strict=True):
        for block in (1, 4, 8):
            record(kernel.task, block, 1e-6 if block == fast else 2e-6)
    return extracted


def choose(extracted, context):
    tuner = ExhaustiveTuner(ExhaustiveOptions(), context.host)
    tune_graph(extracted, tuner, context)


def test_a_node_that_gave_way_says_for_what(extracted, context):
    choose(extracted, context)
    explanation = Explainer(extracted, context).explain(extracted.kernels[1])
    assert explanation.source == "graph choice"
    assert (explanation.chosen.makes, explanation.best.makes) == ("NCHW", "NCHW4c")
    assert explanation.costs_here == pytest.approx(1e-6)
    assert explanation.saves_elsewhere == pytest.approx(20e-6)
    assert set(explanation.saved) == {"pool2:NCHW->NCHW4c", "pool3:NCHW4c->NCHW"}
    assert explanation.paid == {}
    assert list(explanation.lines()) == [
        "pool3: max_pool2d(1x8x5x5, pool_size=3)",
        (
            f"  node {extracted.kernels[1].key} of chain, task {extracted.kernels[1].task.workload.key}, "
            "by graph choice"
        ),
        "  chosen    reads NCHW, makes NCHW: 2.000 us by paper",
        "  own best  reads NCHW4c, makes NCHW4c: 1.000 us by paper",
        "  the choice costs 1.000 us here and saves 20.00 us elsewhere:",
        "    saved  10.00 us  pool2:NCHW->NCHW4c",
        "    saved  10.00 us  pool3:NCHW4c->NCHW",
    ]
    told = explanation.to_json()
    assert told["chosen"]["makes"] == "NCHW"
    assert told["saves_elsewhere_ms"] == pytest.approx(0.02)


def test_what_needs_a_transform_that_failed_is_nobodys_own_best(extracted, context):
    """The second pooling is fastest in blocks of four, which nothing turns its input into."""
    choose(extracted, context)
    key = extracted.kernels[1].key
    found = Explainer(extracted, context).explain(extracted.kernels[1])
    assert found.best.makes == "NCHW4c"

    def blocks(_task, node):
        return ConfigEntity("paper", {"block": 4 if node == key else 1})

    failed = MeasureResult(failure=Failure(FailureKind.WRONG_ANSWER, "another answer"))
    for call in assemble(extracted, blocks, context.host).calls:
        if call.task.workload.operator == TRANSFORM:
            conditions = context.conditions.for_task(call.task)
            for config in context.host.space(call.task).points():
                trial = Trial(MeasureInput(call.task, config, conditions), failed)
                revision = context.host.strategy(config.strategy).revision
                context.store.append([Record.of(trial, context.device, revision)])
    found = Explainer(extracted, context).explain(extracted.kernels[1])
    assert found.best == found.chosen


def test_a_node_at_its_own_best_says_so(extracted, context, record):
    record(extracted.kernels[0].task, 1, 5e-7)
    explanation = Explainer(extracted, context).explain(extracted.kernels[0])
    assert explanation.source == str(context.store.path)
    assert explanation.chosen == explanation.best
    assert not explanation.chosen.estimated
    assert list(explanation.lines())[-1].startswith("  own best  the same")
    assert (explanation.costs_here, explanation.saves_elsewhere) == (0, 0)


@pytest.mark.parametrize(("accuracy", "strategy"), [("default", "pencil"), ("strict", "paper")])
def test_a_choice_is_explained_in_the_accuracy_that_the_network_is_compiled_in(
    accuracy, strategy, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    stages = [{"import": {"model": "zoo:resnet-18", "frontend": {"zoo": {"size": 32}}}}]
    stages += [{"extract": {}}, {"graph-tune": {}}, {"compile": {"accuracy": accuracy}}]
    plugins = [str(Path(__file__).with_name("paper_target.py"))]
    content = {"version": 1, "target": "paper", "plugins": plugins, "stages": stages}
    (tmp_path / "net.yaml").write_text(json.dumps(content))
    assert run(["explain", "net.yaml", "conv2d_2", "--json"]) == 0
    (node,) = json.loads(capsys.readouterr().out)["nodes"]
    by_key = ["explain", "net.yaml", f"{node['task']}@paper", "--json"]
    assert run(by_key) == 0
    assert node in json.loads(capsys.readouterr().out)["nodes"]
    assert node["chosen"]["strategy"] == strategy
    assert node["chosen"]["estimated"]
    assert run(["explain", "net.yaml", "conv2d_2"]) == 0
    told = capsys.readouterr()
    assert re.search(rf"  chosen    .*: estimated .* by {strategy}\n", told.out)
    assert "no record in runs/net/records.jsonl: all times are estimates" in told.err


def test_nothing_that_was_not_measured_is_said_to_be_faster(context, record):
    """What a kernel of such a size might take is less than a second."""
    b = NetworkBuilder("slow")
    y = b.max_pool2d(b.input("x", (1, 8, 6, 6)), pool_size=2)
    extracted = extract(b.network([y]), context.target, Operators.of(context.host))
    record(extracted.kernels[0].task, 1, 1.0)
    found = Explainer(extracted, context).explain(extracted.kernels[0])
    assert (found.chosen.seconds, found.best) == (1.0, found.chosen)
