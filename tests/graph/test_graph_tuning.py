"""Candidates from records, choices over the network, and choices kept as records."""

from __future__ import annotations

import pytest

from tilewright.config import ConfigEntity
from tilewright.measure import MeasureInput, MeasureResult, Trial
from tilewright.records import Record
from tilewright_graph import graph_tuning
from tilewright_graph.builder import NetworkBuilder
from tilewright_graph.candidates import find_candidates
from tilewright_graph.compile import compile_network
from tilewright_graph.extraction import extract
from tilewright_graph.graph_tuning import Measured, tune_graph
from tilewright_graph.greedy import GreedyOptions, GreedyTuner
from tilewright_tensor.operators.operators import Operators


@pytest.fixture
def chain(context):
    """Three poolings whose channels allow every block."""
    b = NetworkBuilder("chain")
    y = b.input("x", (1, 8, 6, 6))
    for size in (2, 3, 1):
        y = b.max_pool2d(y, pool_size=size)
    return extract(b.network([y]), context.target, Operators.of(context.host))


def record(context, task, block, *costs) -> None:
    config = ConfigEntity("paper", {} if block is None else {"block": block})
    conditions = context.conditions.for_workload(task.workload)
    trial = Trial(MeasureInput(task, config, conditions), MeasureResult(costs))
    context.store.append([Record.of(trial, context.device, 1)])


@pytest.fixture
def measured(monkeypatch):
    """The tuning loop replaced by a list of what it was asked; every transform takes 10 us."""
    asked = []

    def measure(tasks, context):
        asked.extend(entry.task for entry in tasks)
        for entry in tasks:
            record(context, entry.task, 4, 1e-5)
        report = {"trials": len(tasks), "failures": 0, "seconds": 0.5, "split": {"time": 0.25}}
        return type("Report", (), {"measurement": report})

    monkeypatch.setattr(graph_tuning, "measure_incumbents", measure)
    return asked


def tune(extracted, context):
    return tune_graph(extracted, GreedyTuner(GreedyOptions()), context, Measured())


def test_the_best_record_of_each_layout_is_a_candidate(chain, context):
    task = chain.kernels[0].task
    record(context, task, 1, 3e-6)
    record(context, task, 8, 2e-6)
    record(context, task, 4, 5e-6)
    found = find_candidates(task, context)
    assert [(c.config["block"], c.seconds, c.recorded) for c in found] == [
        (8, 2e-6, True), (1, 3e-6, True), (4, 5e-6, True),
    ]  # fmt: skip


def test_without_a_record_the_fallback_is_estimated(chain, context):
    (candidate,) = find_candidates(chain.kernels[0].task, context)
    assert not candidate.recorded
    assert candidate.config["block"] == 4
    assert candidate.seconds > 0


def test_one_layout_throughout_beats_faster_kernels_with_transforms(chain, context, measured):
    for kernel, fast in zip(chain.kernels, (8, 4, 8), strict=True):
        for block in (1, 4, 8):
            record(context, kernel.task, block, 1e-6 if block == fast else 2e-6)
    choice = tune(chain, context)
    assert {config["block"] for config in choice.configs.values()} == {1}
    assert choice.transforms == 0
    assert choice.solution.cost == pytest.approx(6e-6)


def test_needed_transforms_are_measured_and_the_choice_made_again(chain, context, measured):
    first, second, third = (kernel.task for kernel in chain.kernels)
    for task in (first, third):
        record(context, task, 1, 1e-6)
        record(context, task, 4, 1.0)
        record(context, task, 8, 1.0)
    record(context, second, 8, 1e-6)
    record(context, second, 4, 1.0)
    record(context, second, 1, 15e-6)
    choice = tune(chain, context)
    assert {task.workload.operator for task in measured} <= {"layout_transform"}
    blocks = [choice.configs[kernel.key]["block"] for kernel in chain.kernels]
    assert blocks == [1, 1, 1]


def test_kernels_without_a_record_are_measured(chain, context, measured):
    tune(chain, context)
    assert {kernel.task for kernel in chain.kernels} <= set(measured)


def test_what_was_measured_adds_up(chain, context, measured):
    account = Measured()
    tune_graph(chain, GreedyTuner(GreedyOptions()), context, account)
    assert account.to_json()["trials"] == len(measured)
    assert account.to_json()["split"]["time"] > 0


def test_choices_are_kept_as_records_and_found_by_compile(chain, context, measured):
    for kernel, block in zip(chain.kernels, (8, 4, 8), strict=True):
        record(context, kernel.task, block, 1e-6)
        record(context, kernel.task, 1, 1.5e-6)
    choice = tune(chain, context)
    kept = context.store.graph_choices(context.device.fingerprint, context.host.revisions)
    assert {node: held.config for node, held in kept.items()} == dict(choice.configs)
    _, report = compile_network(chain, context)
    assert report.sources["graph choice"] == len(chain.kernels)


def test_the_same_choice_is_not_written_twice(chain, context, measured):
    tune(chain, context)
    size = context.store.path.stat().st_size
    tune(chain, context)
    assert context.store.path.stat().st_size == size


def test_a_choice_for_another_task_of_the_same_node_is_not_used(chain, context, measured, host):
    from dataclasses import replace

    tune(chain, context)
    other = extract(chain.network, context.target.replace(threads=2), Operators.of(host))
    moved = replace(context, target=other.target)
    _, report = compile_network(other, moved)
    assert "graph choice" not in report.sources
