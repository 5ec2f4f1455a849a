"""Choices over the network, and choices kept as records."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tilewright.errors import UsageError
from tilewright.vocabulary.config import ConfigEntity
from tilewright_graph.compiled.compile import compile_network
from tilewright_graph.extraction.extraction import extract
from tilewright_graph.extraction.transforms import TRANSFORM
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.network import Network
from tilewright_graph.selection import graph_tuning
from tilewright_graph.selection.dispatching import dispatch_network
from tilewright_graph.selection.effort import Effort
from tilewright_graph.selection.graph_problem import Solution
from tilewright_graph.selection.graph_tuning import tune_graph
from tilewright_graph.selection.prediction import predict
from tilewright_graph.selection.solvers.exhaustive import ExhaustiveOptions, ExhaustiveTuner
from tilewright_graph.stages.extract_stage import ExtractOptions, ExtractStage
from tilewright_pipeline.dispatch.contexts import ApplyHistoryBest
from tilewright_records.store.store import JsonlRecordStore
from tilewright_tensor.operators.operators import Operators


class First:
    """Not even trying, and no honest price: everybody's first candidate, or what is asked for."""

    def __init__(self, pick=0, less=0, bound=None):
        self.pick, self.less, self.bound = pick, less, bound

    def solve(self, problem):
        return Solution((self.pick,) * (len(problem.costs) - self.less), -1.0, self.bound)


def tune(extracted, context, **effort):
    tuner = ExhaustiveTuner(ExhaustiveOptions(), context.host)
    return tune_graph(extracted, tuner, context, Effort(**effort))


# --- choices -------------------------------------------------------------------------------------


def clash(extracted, record):
    """Every kernel is fastest in a layout that its neighbours are not fastest in."""
    for kernel, fast in zip(extracted.kernels, (8, 4, 8), strict=True):
        for block in (1, 4, 8):
            record(kernel.task, block, 1e-6 if block == fast else 2e-6)


def test_where_the_best_of_history_clash_the_choice_wins(chain, context, measured, record):
    """Made-up times: three kernels of 1 us in clashing layouts, or 2 us each in one; 10 us between."""
    clash(chain, record)
    choice = tune(chain, context)
    assert {config["block"] for config in choice.configs.values()} == {1}
    assert {config["block"] for config in choice.history.values()} == {4, 8}
    assert (choice.transforms, choice.history_transforms) == (0, 4)
    assert choice.predicted["history_best"].seconds == pytest.approx(3e-6 + 4 * 1e-5)
    assert choice.predicted["choice"].seconds == pytest.approx(6e-6)
    assert choice.solution.cost == pytest.approx(6e-6)
    assert choice.kept == "solver"


def test_a_choice_that_is_slower_than_history_best_is_not_kept(chain, context, measured, record):
    for kernel in chain.kernels:
        record(kernel.task, 1, 2e-6)
        record(
            kernel.task, 4, 1e-6
        )  # fastest by itself, but not between logical inputs and results

    class Worst(First):
        def solve(self, problem):
            return Solution(tuple(costs.index(max(costs)) for costs in problem.costs), 0.0)

    choice = tune_graph(chain, Worst(), context)
    assert choice.solution.cost > choice.predicted["history_best"].seconds
    assert choice.kept == "history best"
    assert dict(choice.configs) == dict(choice.history)
    _, report = compile_network(chain, context)
    assert report.prediction.seconds == choice.predicted["history_best"].seconds


def test_what_a_choice_costs_is_not_for_its_tuner_to_say(chain, context, measured):
    solution = tune_graph(chain, First(bound=-2.0), context).solution
    assert solution.cost > 0
    assert not solution.optimal


@pytest.mark.parametrize(
    "told", [{"pick": -1}, {"pick": 10**6}, {"less": 1}, {"bound": 1e3}, {"bound": float("nan")}]
)
def test_a_solution_that_is_none_of_the_problem_is_its_tuners_defect(chain, context, told):
    with pytest.raises(RuntimeError, match=r"the graph tuner First gave .* expected a permitted"):
        tune_graph(chain, First(**told), context, Effort(transform_budget=0))


def test_a_tuner_that_finds_no_choice_is_told_in_one_line(chain, context, measured):
    class Lost:
        def solve(self, problem):
            raise ValueError("none was found in 3 decisions")

    with pytest.raises(
        UsageError,
        match=r"^chain: the graph tuner Lost found no choice .*in 3 decisions\n  choose another",
    ):
        tune_graph(chain, Lost(), context, Effort(transform_budget=0))


def test_needed_transforms_are_measured_and_the_choice_made_again(chain, context, measured, record):
    first, second, third = (kernel.task for kernel in chain.kernels)
    for task in (first, third):
        record(task, 1, 1e-6)
        record(task, 4, 1.0)
        record(task, 8, 1.0)
    record(second, 8, 1e-6)
    record(second, 4, 1.0)
    record(second, 1, 15e-6)
    choice = tune(chain, context, transform_budget=0)
    assert {task.workload.operator for task in measured} == {TRANSFORM}
    assert len(measured) < choice.possible
    assert [choice.configs[kernel.key]["block"] for kernel in chain.kernels] == [1, 1, 1]
    assert choice.priced == choice.possible - len(measured)


def test_every_transform_that_may_be_needed_is_measured_once(chain, context, measured, record):
    clash(chain, record)
    choice = tune(chain, context)
    assert len(set(measured)) == len(measured) == choice.possible > 4
    assert choice.priced == 0


def test_the_budget_for_transforms_holds(chain, context, measured, record):
    clash(chain, record)
    choice = tune(chain, context, transform_budget=3)
    assert len(measured) >= 3
    assert choice.priced == choice.possible - len(measured) > 0


@pytest.fixture
def transforms_fail(monkeypatch, context, record, fail):
    """The tuning loop replaced by one in which transforms fail; kernels take 40 us."""

    def measure(pairs, context):
        for entry, config in pairs:
            if entry.task.workload.operator == TRANSFORM:
                fail(entry.task, config)
            else:
                record(entry.task, config, 4e-5)
        asked.extend(pairs)
        report = {"trials": len(pairs), "failures": len(pairs), "seconds": 0.5}
        return type("Report", (), {"measurement": report})

    asked = []
    monkeypatch.setattr(graph_tuning, "measure_configs", measure)
    return asked


def test_a_transform_that_fails_is_in_no_choice_and_not_measured_again(
    chain, context, record, transforms_fail
):
    clash(chain, record)
    choice = tune(chain, context)
    assert choice.transforms == 0
    assert choice.predicted["choice"].seconds == pytest.approx(6e-6)
    assert transforms_fail
    transforms_fail.clear()
    tune(chain, context)
    assert transforms_fail == []


@pytest.mark.usefixtures("transforms_fail")
def test_history_best_is_not_kept_for_transforms_that_failed(chain, context, record):
    """By its estimates it looks faster than the choice; but the choice works."""
    first, *others = (kernel.task for kernel in chain.kernels)
    record(first, 1, 4e-5)
    record(first, 4, 2e-5)
    for task in others:
        record(task, 1, 4e-5)
    choice = tune(chain, context)
    assert (choice.kept, choice.transforms) == ("solver", 0)
    assert choice.predicted["history_best"].failed > choice.predicted["choice"].failed == 0
    dispatched = dispatch_network(chain, context, "default")
    assert {config["block"] for config in dispatched.configs.values()} == {1}


def test_a_dispatched_network_carries_its_prediction(chain, context, record):
    for kernel in chain.kernels:
        record(kernel.task, 1, 2e-6)
    dispatched = dispatch_network(chain, context, "default")
    assert dispatched.prediction == predict(dispatched.assembly.calls, context)
    record(chain.kernels[0].task, 1, 9e-6)
    assert dispatched.prediction.seconds == pytest.approx(2e-6 * len(chain.kernels))


def test_what_failed_is_not_compiled_where_there_is_other_advice(chain, context, record, fail):
    kernel = chain.kernels[0]
    advised = ConfigEntity("paper", {"block": 4})
    assert dispatch_network(chain, context, "default").configs[kernel.key] == advised
    fail(kernel.task, advised)
    assert dispatch_network(chain, context, "default").configs[kernel.key]["block"] == 1


def test_the_best_of_another_epilogue_is_not_taken_where_it_failed_here(context, record, fail):
    b = NetworkBuilder("two")
    x = b.input("x", (1, 8, 6, 6))
    pooled = b.max_pool2d(x, pool_size=2)
    fused = b.relu(b.max_pool2d(x, pool_size=2, name="again"))
    operators = Operators.of(context.host)
    plain, kin = extract(b.network([pooled, fused]), context.target, operators).kernels
    assert plain.task != kin.task
    record(plain.task, 8, 1e-6)
    history = ApplyHistoryBest(context.history)
    assert history.find(kin.task, None).config["block"] == 8
    fail(kin.task, ConfigEntity("paper", {"block": 8}))
    assert history.find(kin.task, None) is None


def test_a_layout_that_was_never_tried_is_measured_where_it_may_pay(
    chain, context, measured, record
):
    """All records are of blocks; between logical inputs and results they need transforms."""
    for kernel in chain.kernels:
        record(kernel.task, 4, 1e-5)
    choice = tune(chain, context)
    assert {config["block"] for config in choice.configs.values()} == {1}
    assert choice.transforms == 0
    assert {kernel.task for kernel in chain.kernels} <= set(measured)
    assert choice.predicted["choice"].seconds == pytest.approx(3e-5)


def test_kernels_without_a_record_are_measured(chain, context, measured):
    tune(chain, context)
    assert {kernel.task for kernel in chain.kernels} <= set(measured)


def test_what_was_measured_adds_up(chain, context, measured):
    measurement = tune_graph(chain, First(), context).measurement
    assert measurement["trials"] == len(measured)
    assert measurement["split"]["time"] > 0


# --- records -------------------------------------------------------------------------------------


def test_choices_are_kept_as_records_and_found_by_compile(chain, context, measured, record):
    clash(chain, record)
    choice = tune(chain, context)
    again = replace(context, store=JsonlRecordStore(context.store.path))
    kept = again.store.graph_choices(context.device.fingerprint, context.host.revisions)
    assert {node: held.config for node, held in kept.items()} == dict(choice.configs)
    _, report = compile_network(chain, again)
    assert report.sources == {"graph choice": 3, "history": 0, "fallback": 0}
    assert report.prediction.seconds == pytest.approx(choice.solution.cost)


def test_a_choice_that_the_records_beat_is_passed_over_with_a_warning(
    chain, context, measured, record, caplog
):
    for kernel in chain.kernels:
        record(kernel.task, 1, 1e-4)
        record(kernel.task, 4, 1e-6)
    choice = tune(chain, context)
    assert {config["block"] for config in choice.configs.values()} == {4}
    _, report = compile_network(chain, context)
    assert (report.sources["graph choice"], caplog.text) == (3, "")
    for kernel in chain.kernels:
        record(kernel.task, 1, 1e-7)
    _, report = compile_network(chain, context)
    assert report.sources == {"graph choice": 0, "history": 3, "fallback": 0}
    assert report.prediction.seconds == pytest.approx(3e-7)
    assert "chain: passed over the graph choice" in caplog.text
    assert "run graph-tune with these options to choose anew" in caplog.text


def test_the_same_choice_is_not_written_twice(chain, context, measured, record):
    clash(chain, record)
    tune(chain, context, transform_budget=2)
    known = context.store.path.read_bytes()
    tune(chain, context, transform_budget=2)
    assert context.store.path.read_bytes() == known


def test_resnet_18_has_a_line_for_each_of_its_21_convolutions_and_12_anchors(context, measured):
    network = context.host.make("frontend", "zoo", {}, context.host).read("zoo:resnet-18", {}, 0)
    extracted, _ = ExtractStage(ExtractOptions(), context).run({Network: network}).values
    tune_graph(extracted, First(), context, Effort(transform_budget=0))
    again = JsonlRecordStore(context.store.path)
    kept = again.graph_choices(context.device.fingerprint, context.host.revisions).values()
    assert len(kept) == len(extracted.kernels)
    workloads = [r.task.workload for r in kept if r.task.workload.operator == "conv2d"]
    assert len(workloads) == 21
    assert len({workload.anchor_key for workload in workloads}) == 12


def test_a_choice_for_another_task_of_the_same_node_is_not_used(chain, context, measured, host):
    tune(chain, context)
    other = extract(chain.network, context.target.replace(threads=2), Operators.of(host))
    moved = replace(context, target=other.target)
    _, report = compile_network(other, moved)
    assert report.sources["graph choice"] == 0


def test_a_choice_outside_the_strategies_of_the_run_is_not_used(context, measured, residual):
    both = replace(context, strategies="p*")
    extracted, _ = ExtractStage(ExtractOptions(), context).run({Network: residual}).values
    choice = tune_graph(extracted, First(), both, Effort(transform_budget=0))
    narrow = replace(both, strategies="paper")
    _, report = compile_network(extracted, narrow)
    paper = [config for config in choice.configs.values() if config.strategy == "paper"]
    assert 0 < len(paper) < len(choice.configs)
    assert report.sources["graph choice"] == len(paper)


def test_a_choice_of_a_revision_that_is_gone_is_a_miss(chain, context, measured, record):
    clash(chain, record)
    tune(chain, context)
    (*_, last) = context.store.graph_choices(
        context.device.fingerprint, context.host.revisions
    ).values()
    context.store.append([replace(last, revision=7)])
    assert context.store.stale(context.host.revisions) == {"paper": 1}
    _, report = compile_network(chain, context)
    assert report.sources == {"graph choice": 3, "history": 0, "fallback": 0}
