"""Networks that were tuned without graph-tune: records are taken that are fastest together."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from tilewright.errors import UsageError
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.record import ErrorBound, GraphRecord
from tilewright_graph.compiled.compile import compile_network
from tilewright_graph.extraction.extraction import extract
from tilewright_graph.extraction.transforms import TRANSFORM
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.reports.explanation import Explainer
from tilewright_graph.selection.assembly import assemble
from tilewright_graph.selection.dispatching import dispatch_network
from tilewright_graph.selection.graph_problem import InfeasibleProblemError
from tilewright_graph.selection.prediction import predict
from tilewright_graph.selection.solvers.pbqp import PbqpTuner
from tilewright_pipeline.dispatch.contexts import ApplyFixedConfig
from tilewright_tensor.operators.operators import Operators


def block(size):
    return ConfigEntity("paper", {"block": size})


@pytest.fixture
def context(context):
    """On a device whose bandwidth is known."""
    return replace(context, device=replace(context.device, bandwidth={1: 1e10}))


@pytest.fixture
def clash(chain, record):
    """Every kernel is fastest in a layout that its neighbours are not fastest in, by a little."""
    for kernel, fast in zip(chain.kernels, (8, 4, 8), strict=True):
        for size in (1, 4, 8):
            record(kernel.task, size, 1e-6 if size == fast else 1.1e-6)
    return chain


def assembled(extracted, host, picked):
    """The calls with a block for each kernel."""
    configs = {k.key: block(one) for k, one in zip(extracted.kernels, picked, strict=True)}

    def choose(task, node):
        return configs[node] if node else host.space(task).first()

    return assemble(extracted, choose, host).calls


EVERY = list(product((1, 4, 8), repeat=3))


def every_transform(extracted, host):
    calls = (call for picked in EVERY for call in assembled(extracted, host, picked))
    return {call.task for call in calls if call.task.workload.operator == TRANSFORM}


@pytest.fixture
def transforms(context, record):
    """A function that records the same seconds for every transform that any blocks may need."""

    def put(extracted, seconds):
        for task in every_transform(extracted, context.host):
            record(task, context.host.space(task).first(), seconds)

    return put


def blocks(extracted, dispatched):
    return [dispatched.configs[kernel.key]["block"] for kernel in extracted.kernels]


def test_where_the_best_records_clash_others_are_taken_and_nothing_is_measured(clash, context):
    lines = context.store.path.read_bytes()
    dispatched = dispatch_network(clash, context, "default")
    assert blocks(clash, dispatched) == [1, 1, 1]
    assert dispatched.assembly.transforms == 0
    assert dispatched.prediction.seconds == pytest.approx(3.3e-6)
    assert dispatched.sources == {"graph choice": 0, "history": 3, "fallback": 0}
    answers = [dispatched.answers[kernel.key] for kernel in clash.kernels]
    assert [answer.seconds for answer in answers] == pytest.approx([1.1e-6] * 3)
    assert {answer.source for answer in answers} == {str(context.store.path)}
    assert context.store.path.read_bytes() == lines


def test_a_transform_that_costs_less_than_it_gains_is_taken(clash, context, transforms):
    transforms(clash, 1e-9)
    dispatched = dispatch_network(clash, context, "default")
    assert blocks(clash, dispatched) == [8, 4, 8]
    assert dispatched.assembly.transforms == 4


@pytest.mark.parametrize("seconds", [2e-8, 4e-8, 6e-8, 2e-7])
def test_no_other_records_are_predicted_to_be_faster(chain, context, record, transforms, seconds):
    for kernel, times in zip(chain.kernels, ([3, 1, 2], [1, 3, 3], [2, 2, 1]), strict=True):
        for size, time in zip((1, 4, 8), times, strict=True):
            record(kernel.task, size, 1e-6 + time * 5e-8)
    transforms(chain, seconds)
    least = min(
        predict(assembled(chain, context.host, picked), context).seconds for picked in EVERY
    )
    found = dispatch_network(chain, context, "default")
    assert found.prediction.seconds == pytest.approx(least)


def test_where_nothing_tells_what_transforms_cost_each_kernel_keeps_its_best(
    clash, context, transforms
):
    unknown = replace(context, device=replace(context.device, bandwidth={}))
    assert blocks(clash, dispatch_network(clash, unknown, "default")) == [8, 4, 8]
    transforms(clash, 1e-6)
    assert blocks(clash, dispatch_network(clash, unknown, "default")) == [1, 1, 1]


def test_records_of_strategies_that_the_accuracy_refuses_are_not_taken(residual, context, record):
    every = replace(context, strategies="*")
    extracted = extract(residual, context.target, Operators.of(context.host))
    convolutions = [k for k in extracted.kernels if k.task.workload.operator == "conv2d"]
    for place, kernel in enumerate(convolutions):
        record(kernel.task, (8, 4)[place % 2], 1e-6)
        record(kernel.task, 1, 1.2e-6)
        record(kernel.task, ConfigEntity("pencil"), 1e-7)

    def strategies(accuracy):
        configs = dispatch_network(extracted, every, accuracy).configs
        return {configs[kernel.key].strategy for kernel in convolutions}

    assert strategies("strict") == {"paper"}
    assert "pencil" in strategies("default")


@pytest.mark.parametrize("error", [ValueError("none found"), InfeasibleProblemError("none is")])
def test_where_the_graph_tuner_finds_nothing_each_kernel_keeps_its_best(
    clash, context, monkeypatch, error
):
    def solve(_self, _problem):
        raise error

    monkeypatch.setattr(PbqpTuner, "solve", solve)
    assert blocks(clash, dispatch_network(clash, context, "default")) == [8, 4, 8]


def test_beside_a_choice_within_a_bound_on_the_error_records_stay_as_they_are(clash, context):
    first, *_ = clash.kernels
    choice = GraphRecord(
        first.key,
        first.task,
        block(1),
        "paper",
        context.device.fingerprint,
        1,
        bound=ErrorBound(1e-2, {}),
    )
    context.store.append([choice])
    lower = replace(context, host=context.host.at_precision("bfloat16"))
    found = dispatch_network(clash, lower, "default")
    assert found.max_error == 1e-2
    assert blocks(clash, found) == [1, 4, 8]
    assert blocks(clash, dispatch_network(clash, context, "default")) == [1, 1, 1]


def test_history_by_itself_keeps_each_best(clash, context):
    assert blocks(clash, dispatch_network(clash, context, "default", "history")) == [8, 4, 8]


def test_a_kernel_without_a_record_keeps_its_fallback(chain, context, record):
    first, _, last = chain.kernels
    for kernel in (first, last):
        record(kernel.task, 8, 1e-6)
        record(kernel.task, 4, 1.1e-6)
    dispatched = dispatch_network(chain, context, "default")
    assert blocks(chain, dispatched) == [4, 4, 4]
    assert dispatched.sources == {"graph choice": 0, "history": 2, "fallback": 1}


def test_what_a_graph_tuner_chose_stays_and_the_others_agree_with_it(clash, context):
    first, *_ = clash.kernels
    context.store.append(
        [GraphRecord(first.key, first.task, block(8), "paper", context.device.fingerprint, 1)]
    )
    dispatched = dispatch_network(clash, context, "default")
    assert blocks(clash, dispatched) == [8, 8, 8]
    assert dispatched.sources["graph choice"] == 1


def test_where_a_choice_is_passed_over_the_records_agree(clash, context, record, caplog):
    for kernel in clash.kernels:
        record(kernel.task, 8, 1.0)
    fingerprint = context.device.fingerprint
    context.store.append(
        GraphRecord(kernel.key, kernel.task, block(8), "paper", fingerprint, 1)
        for kernel in clash.kernels
    )
    dispatched = dispatch_network(clash, context, "default")
    assert "passed over the graph choice" in caplog.text
    assert blocks(clash, dispatched) == [1, 1, 1]


def test_a_config_of_the_callers_stays_and_the_others_agree_with_it(clash, context, transforms):
    transforms(clash, 1e-6)

    class Middle(ApplyFixedConfig):
        def find(self, task, node):
            answer = super().find(task, node)
            return answer and replace(answer, config=block(8)) if node == middle else None

    middle = clash.kernels[1].key
    with Middle(context.host, "paper"):
        dispatched = dispatch_network(clash, context, "default")
    assert blocks(clash, dispatched) == [8, 8, 8]
    assert dispatched.entered == {middle}


def test_transforms_that_failed_are_avoided_at_any_price(chain, context, record, fail, transforms):
    for kernel, fast in zip(chain.kernels, (8, 4, 8), strict=True):
        for size in (1, 4, 8):
            record(kernel.task, size, 1e-9 if size == fast else 1.0)
    transforms(chain, 1e-6)
    assert blocks(chain, dispatch_network(chain, context, "default")) == [8, 4, 8]
    for task in every_transform(chain, context.host):
        for size in (1, 4, 8):
            fail(task, block(size))
    dispatched = dispatch_network(chain, context, "default")
    assert dispatched.prediction.failed == 0
    assert blocks(chain, dispatched) == [1, 1, 1]


def test_a_frozen_run_avoids_transforms_without_a_record_at_any_price(chain, context, record):
    for kernel, fast in zip(chain.kernels, (8, 4, 8), strict=True):
        for size in (1, 4, 8):
            record(kernel.task, size, 1e-9 if size == fast else 1.0)
    assert blocks(chain, dispatch_network(chain, context, "default")) == [8, 4, 8]
    frozen = replace(context, frozen="sha256:" + "0" * 64)
    compiled, report = compile_network(chain, frozen)
    assert report.transforms == 0
    compiled.close()


def test_a_frozen_run_does_so_around_a_config_of_the_callers_without_a_record(
    chain, context, record
):
    first, *others = chain.kernels
    for kernel, fast in zip(others, (8, 4), strict=True):
        for size in (1, 4, 8):
            record(kernel.task, size, 1e-9 if size == fast else 1.0)

    class First(ApplyFixedConfig):
        def find(self, task, node):
            return super().find(task, node) if node == first.key else None

    frozen = replace(context, frozen="sha256:" + "0" * 64)
    with First(context.host, "paper"):
        compiled, report = compile_network(chain, frozen)
    assert report.transforms == 0
    compiled.close()


def test_a_frozen_run_without_such_records_says_what_is_missing(chain, context, record):
    for kernel, fast in zip(chain.kernels, (8, 4, 8), strict=True):
        record(kernel.task, fast, 1e-6)
    with pytest.raises(UsageError, match="measure these layout transforms by graph-tune"):
        compile_network(chain, replace(context, frozen="sha256:" + "0" * 64))


def test_the_explanation_says_what_another_record_costs_and_saves(clash, context):
    explainer = Explainer(clash, context)
    first = explainer.explain(clash.kernels[0])
    assert (first.source, first.chosen.makes) == (str(context.store.path), "NCHW")
    assert first.best.makes == "NCHW8c"
    assert first.costs_here == pytest.approx(1e-7)
    assert first.saves_elsewhere > first.costs_here


def test_a_compiled_network_answers_the_same_by_agreed_records(residual, context, record):
    extracted = extract(residual, context.target, Operators.of(context.host))
    inputs = random_inputs(residual, 0)
    plain, _ = compile_network(extracted, context)
    for place, kernel in enumerate(extracted.kernels):
        for size in (1, 4, 8):
            if context.host.space(kernel.task).is_valid(block(size)):
                record(kernel.task, size, 1e-6 if size == (8, 4)[place % 2] else 1.1e-6)
    agreed, report = compile_network(extracted, context)
    _, apart = compile_network(extracted, context, best="history")
    assert report.transforms < apart.transforms
    before, after = plain.run(inputs), agreed.run(inputs)
    for name in residual.outputs:
        assert after[name] == pytest.approx(before[name], rel=1e-5)
