"""A dispatch context that the caller has entered is asked first, for every kernel."""

from __future__ import annotations

import json
import threading
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

import tilewright
from tilewright.errors import UsageError
from tilewright.strategies.dispatch import Answer, DispatchContext
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.record import GraphRecord
from tilewright_graph.compiled.compile import compile_network
from tilewright_graph.extraction.extraction import extract
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.reports.explanation import Explainer
from tilewright_graph.selection.effort import Effort
from tilewright_graph.selection.graph_tuning import tune_graph
from tilewright_graph.selection.solvers.exhaustive import ExhaustiveOptions, ExhaustiveTuner
from tilewright_graph.stages import compile_stage
from tilewright_pipeline.api.task_explanation import TaskExplanation
from tilewright_pipeline.dispatch.contexts import (
    ApplyConfig,
    ApplyFixedConfig,
    ApplyGraphBest,
    ApplyHistoryBest,
)
from tilewright_pipeline.pipeline import Pipeline
from tilewright_records.store.store import JsonlRecordStore
from tilewright_tensor.operators.operators import Operators

BLOCK_1, BLOCK_8 = (ConfigEntity("paper", {"block": block}) for block in (1, 8))


@dataclass(eq=False)
class Asked(DispatchContext):
    """Counts who is asked for; answers what it is told, or raises it."""

    says: Answer | Exception | None = None
    nodes: Counter[str | None] = field(default_factory=Counter)

    def find(self, task, node):
        self.nodes[node] += 1
        if isinstance(self.says, Exception):
            raise self.says
        return self.says


@pytest.fixture
def network():
    b = NetworkBuilder("chain")
    y = b.input("x", (1, 8, 6, 6))
    for size in (2, 3, 1):
        y = b.max_pool2d(y, pool_size=size)
    return b.network([y])


@pytest.fixture
def chain(context, network):
    return extract(network, context.target, Operators.of(context.host))


def compiled(network, context, tmp_path):
    return tilewright.compile(
        network, target="paper", host=context.host, strategies="p*", out=tmp_path / "out"
    )


def chosen(kernel, config):
    return GraphRecord(kernel.key, kernel.task, config, "paper", "any", 1)


def configs_of(chain, context):
    return {e.node.name: e for e in map(Explainer(chain, context).explain, chain.kernels)}


def test_compile_asks_the_callers_context_for_every_kernel(network, chain, context, tmp_path):
    with Asked() as asked:
        compiled(network, context, tmp_path)
    assert asked.nodes.keys() == {kernel.key for kernel in chain.kernels}


def test_a_pipeline_asks_the_callers_context_and_its_report_counts_the_answers(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(compile_stage, "_SECONDS", 0.0)
    stages = [{"import": {"model": "zoo:resnet-18", "frontend": {"zoo": {"size": 32}}}}]
    stages += [{"extract": {}}, {"compile": {}}]
    plugins = [str(Path(__file__).with_name("paper_target.py"))]
    content = {"version": 1, "target": "paper", "plugins": plugins, "stages": stages}
    (tmp_path / "net.yaml").write_text(json.dumps(content))
    pipeline = Pipeline.load(tmp_path / "net.yaml")
    with ApplyFixedConfig(pipeline.plan.host, "pencil"):
        result = pipeline.run(out=tmp_path / "out")
    configs = result.report["compile"]["configs"]
    assert configs.pop("dispatch context") == 21  # convolutions; pencil serves nothing else
    assert configs == {"graph choice": 0, "history": 0, "fallback": 4}


def test_an_error_of_a_context_reaches_the_caller(network, context, tmp_path):
    mine = ZeroDivisionError("mine")
    with pytest.raises(ZeroDivisionError) as found, Asked(mine):
        compiled(network, context, tmp_path)
    assert found.value is mine


def test_an_answer_goes_before_the_graph_choice_and_the_records(chain, context, record, measured):
    for kernel in chain.kernels:
        record(kernel.task, 4, 1e-6)
    tune_graph(chain, ExhaustiveTuner(ExhaustiveOptions(), context.host), context)
    with ApplyConfig(BLOCK_8):
        _, report = compile_network(chain, context)
    assert report.sources == {
        "dispatch context": 3, "graph choice": 0, "history": 0, "fallback": 0,
    }  # fmt: skip


def test_what_a_context_does_not_answer_is_decided_as_without_it(chain, context):
    first = chain.kernels[0]
    with ApplyGraphBest({first.key: chosen(first, BLOCK_8)}):
        _, report = compile_network(chain, context)
        explained = configs_of(chain, context)
    assert report.sources == {
        "dispatch context": 1, "graph choice": 0, "history": 0, "fallback": 2,
    }  # fmt: skip
    sources = [explained[kernel.name].source for kernel in chain.kernels]
    assert sources == ["ApplyGraphBest: graph choice", "fallback", "fallback"]


def test_a_strategy_is_forced_where_it_serves_and_a_glob_that_nothing_matches_is_refused(
    chain, context
):
    wide = replace(context, strategies="p*")
    with ApplyFixedConfig(context.host, "pencil"):
        _, report = compile_network(chain, wide)
    assert report.sources == {"graph choice": 0, "history": 0, "fallback": 3}
    with (
        pytest.raises(UsageError, match="no strategy for paper matches 'pencl'"),
        ApplyFixedConfig(context.host, "pencl"),
    ):
        compile_network(chain, wide)


def test_records_of_another_file_answer_where_they_know_the_task(chain, context, tmp_path, record):
    first = chain.kernels[0].task
    other = replace(context, store=JsonlRecordStore(tmp_path / "other.jsonl"))
    record(first, 8, 1e-6)
    other.store.append(context.store.records())
    fresh = replace(context, store=JsonlRecordStore(tmp_path / "none.jsonl"))
    history = ApplyHistoryBest(other.history)
    with history:
        _, report = compile_network(chain, fresh)
        told = list(TaskExplanation.of(first, fresh).lines())
    assert report.sources["dispatch context"] == 1
    assert f"from ApplyHistoryBest: {other.store.path}" in told[2]
    assert any("the dispatch contexts entered: " in line for line in told)


def test_of_contexts_within_contexts_the_innermost_that_answers_counts(chain, context):
    with ApplyConfig(BLOCK_8), ApplyConfig(BLOCK_1), Asked() as silent:
        explained = configs_of(chain, context)
    assert {e.chosen.makes for e in explained.values()} == {"NCHW"}
    assert sum(silent.nodes.values()) >= 3


def test_a_context_is_asked_in_the_thread_that_entered_it(chain, context):
    found = []

    def compile_here():
        found.append(compile_network(chain, context)[1].sources)

    with ApplyConfig(BLOCK_8):
        thread = threading.Thread(target=compile_here)
        thread.start()
        thread.join()
    assert "dispatch context" not in found[0]


@pytest.mark.parametrize(
    ("says", "told"),
    [
        (Answer(ConfigEntity("paper", {"block": 3}), None, "me"), "no feasible point of the space"),
        (Answer(ConfigEntity("pencil"), None, "me"), "no feasible point of the space"),
        (BLOCK_8, "expected an Answer or None, got ConfigEntity"),
    ],
)
def test_an_answer_that_cannot_be_names_the_context_and_the_kernel(chain, context, says, told):
    with pytest.raises(UsageError, match=told) as found, Asked(says):
        compile_network(chain, context)
    assert str(found.value).startswith("kernel max_pool2d(1x8x6x6")
    assert "the dispatch context Asked answered" in str(found.value)


def test_graph_tuning_chooses_around_a_kernel_that_a_context_fixes(
    chain, context, measured, record
):
    """Alone, every kernel is fastest in block 4; the middle one is said to be in block 8."""
    for kernel in chain.kernels:
        for block, seconds in ((1, 5e-3), (4, 1e-3), (8, 2e-3)):
            record(kernel.task, block, seconds)
    middle = chain.kernels[1]
    solver = ExhaustiveTuner(ExhaustiveOptions(), context.host)
    with ApplyGraphBest({middle.key: chosen(middle, BLOCK_8)}):
        choice = tune_graph(chain, solver, context, Effort())
    assert choice.configs[middle.key] == BLOCK_8
    kept = context.store.graph_choices(context.device.fingerprint, context.host.revisions)
    assert kept.keys() == choice.configs.keys() - {middle.key}
