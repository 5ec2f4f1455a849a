"""Compiled on the paper target, a network gives the references' answers, and a saved one the same bytes."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import cycle

import numpy as np
import pytest
from compiling import compiled, extracted_from

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.config import ConfigEntity
from tilewright_graph.compiled.compile import compile_network
from tilewright_graph.extraction.extraction import extract
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.evaluate import evaluate
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.selection.assembly import assemble
from tilewright_tensor.operators.operators import Operators


def assert_answers(network, found, context, inputs) -> None:
    expected = evaluate(network, inputs, Operators.of(context.host))
    assert found.keys() == expected.keys()
    for name, answer in found.items():
        np.testing.assert_allclose(answer, expected[name], rtol=2e-4, atol=1e-5)


def test_outputs_and_observed_tensors_are_those_of_the_references(residual, context):
    network, _ = compiled(residual, context)
    inputs = random_inputs(residual, 4)
    assert_answers(residual, network.observe(inputs), context, inputs)


def test_its_precision_is_the_lowest_of_its_kernels(residual, context, monkeypatch):
    turns, known = cycle(("tf32", "bfloat16", "float32")), PluginHost.strategy
    monkeypatch.setattr(
        PluginHost, "strategy", lambda host, name: replace(known(host, name), precision=next(turns))
    )
    assert compiled(residual, context)[0].precision == "bfloat16"


def test_a_second_run_sees_its_own_inputs(residual, context):
    network, _ = compiled(residual, context)
    network.run(random_inputs(residual, 4))
    inputs = random_inputs(residual, 5)
    assert_answers(residual, network.observe(inputs), context, inputs)


def test_run_returns_outputs_only(residual, context):
    network, _ = compiled(residual, context)
    assert tuple(network.run(random_inputs(residual, 4))) == residual.outputs


def test_neighbours_that_disagree_get_transforms(residual, context, record):
    """Each kernel another block than its neighbour, by records: answers stay."""
    extracted = extracted_from(residual, context)
    tasks = dict.fromkeys(kernel.task for kernel in extracted.kernels)
    blocks = (1, 4, 8)
    for i, task in enumerate(tasks):
        record(task, blocks[i % 3], 1e-3)
    network, report = compile_network(extracted, context)
    assert report.transforms > 0
    kernels = len(extracted.kernels)
    assert report.sources == {"graph choice": 0, "history": kernels, "fallback": 0}
    inputs = random_inputs(residual, 4)
    assert_answers(residual, network.observe(inputs), context, inputs)


def test_a_tensor_is_transformed_once_for_all_readers(context):
    b = NetworkBuilder("net")
    x = b.input("x", (1, 8, 3, 3))
    network = b.network([b.max_pool2d(x, pool_size=1), b.max_pool2d(x, pool_size=2)])
    extracted = extract(network, context.target, Operators.of(context.host))
    calls = assemble(
        extracted, lambda task, node: ConfigEntity("paper", {"block": 4}), context.host
    ).calls
    assert sum(call.reads == ("x",) for call in calls) == 1


@pytest.mark.parametrize("name", ["y@NCHW", "y@NCHW8c"])
def test_tensors_may_be_called_as_one_in_a_layout(context, record, name):
    b = NetworkBuilder("net")
    x, other = b.input("x", (1, 8, 4, 4)), b.input(name, (1, 8, 4, 4))
    y = b.apply("max_pool2d", [x], {"pool_size": 1}, output="y")
    network = b.network([b.add(b.max_pool2d(y, pool_size=1), other)])
    kernels = extract(network, context.target, Operators.of(context.host)).kernels
    for block, seconds in ((8, 2e-6), (1, 1e-6)):
        for kernel in kernels:
            record(kernel.task, block, seconds)
        made, _ = compiled(network, context)
        inputs = random_inputs(network, 4)
        assert_answers(network, made.run(inputs), context, inputs)


def test_layouts_that_are_the_same_bytes_need_no_transform(context):
    """[1, 8, 1, 1] is one run of eight numbers in NCHW and in NCHW8c."""
    b = NetworkBuilder("net")
    x = b.input("x", (1, 8, 1, 1))
    network = b.network([b.max_pool2d(b.relu(x), pool_size=1)])
    extracted = extract(network, context.target, Operators.of(context.host))
    configs = iter([ConfigEntity("paper", {"block": 8}), ConfigEntity("paper", {"block": 1})])
    assembly = assemble(extracted, lambda task, node: next(configs), context.host)
    assert [call.task.workload.operator for call in assembly.calls] == ["relu", "max_pool2d"]


def test_the_prediction_sums_what_is_recorded_and_says_what_is_not(context, record):
    b = NetworkBuilder("net")
    network = b.network(
        [b.max_pool2d(b.max_pool2d(b.input("x", (1, 3, 9, 9)), pool_size=3), pool_size=3)]
    )
    first, second = extract(network, context.target, Operators.of(context.host)).kernels
    record(first.task, 1, 2.0)
    _, report = compiled(network, context)
    assert report.prediction.seconds > 2.0
    assert 0 < report.prediction.share_without_record < 0.01
    record(second.task, 1, 1.0)
    _, report = compiled(network, context)
    assert (report.prediction.seconds, report.prediction.share_without_record) == (3.0, 0.0)


def test_strict_accuracy_takes_only_strategies_with_the_direct_error(residual, context):
    from dataclasses import replace

    free = replace(context, strategies="*")
    extracted = extracted_from(residual, context)
    conv = next(k for k in extracted.kernels if k.task.workload.operator == "conv2d")

    def strategies(accuracy):
        from tilewright_graph.compiled.compile import dispatch_network

        calls = dispatch_network(extracted, free, accuracy).assembly.calls
        return {c.config.strategy for c in calls if c.task == conv.task}

    assert strategies("default") == {"pencil"}
    assert strategies("strict") == {"paper"}


def test_inputs_by_position_and_by_name_are_the_same(residual, context):
    network, _ = compiled(residual, context)
    inputs = random_inputs(residual, 4)
    by_name, by_place = network.run(inputs), network.run(list(inputs.values()))
    assert all((by_name[name] == by_place[name]).all() for name in by_name)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "input 'x' is missing"),
        ({"y": np.zeros(1)}, "no input named 'y'"),
        ({"x": np.zeros((1, 3, 4, 4), np.float32)}, r"expected float32\[1, 3, 5, 5\]"),
        ({"x": np.zeros((1, 3, 5, 5))}, "got float64"),
        ([], r"expected 1 input, got a list of 0\n  .* in order: x float32\[1, 3, 5, 5\]"),
        (np.zeros((3, 5, 5), np.float32), r"'x': expected float32\[1, 3, 5, 5\], got float32\[3, "),
        (np.zeros((1, 3, 5, 5)), r"got float64\[1, 3, 5, 5\]\n  convert it: .astype\('float32'\)"),
        ({"x": [[1], [1, 2]]}, "input 'x' is no array: "),
        (None, r"input 'x': expected float32\[1, 3, 5, 5\], got object"),
    ],
)
def test_wrong_inputs_are_named(residual, context, inputs, message):
    network, _ = compiled(residual, context)
    with pytest.raises(UsageError, match=message):
        network.run(inputs)


def test_one_array_is_the_one_input(residual, context):
    network, _ = compiled(residual, context)
    (array,) = random_inputs(residual, 4).values()
    expected = network.run({"x": array})
    for given in (array, [array], (array,)):
        assert all((network.run(given)[name] == expected[name]).all() for name in expected)
    assert network.observe(array).keys() == {*residual.results}


def test_one_array_is_not_taken_for_several_inputs(context):
    b = NetworkBuilder("net")
    network, _ = compiled(b.network([b.add(b.input("x", (2, 3)), b.input("y", (2, 3)))]), context)
    with pytest.raises(
        UsageError, match=r"expected 2 inputs, got one array\n.*x float32.*, y float"
    ):
        network.run(np.ones((2, 3), np.float32))


def test_a_copy_and_what_is_pickled_run_by_themselves(residual, context):
    network, _ = compiled(residual, context)
    inputs = random_inputs(residual, 4)
    expected = network.run(inputs)
    others = [copy.copy(network), copy.deepcopy(network), pickle.loads(pickle.dumps(network))]
    network.close()
    for other in others:
        with other as entered:
            assert entered is other
            assert all((other.run(inputs)[name] == expected[name]).all() for name in expected)
        with pytest.raises(UsageError, match="the network is closed"):
            other.run(inputs)


def test_threads_that_share_a_network_get_their_own_answers(residual, context):
    network, _ = compiled(residual, context)
    asked = [random_inputs(residual, seed) for seed in range(4)]
    (expected,) = zip(*(network.run(inputs).values() for inputs in asked), strict=True)

    def wrong(number):
        answers = (network.run(asked[number]) for _ in range(50))
        return sum(
            (answer != expected[number]).any() for (answer,) in (a.values() for a in answers)
        )

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(wrong, range(4))) == [0, 0, 0, 0]


def test_a_scalar_input_is_one(context):
    b = NetworkBuilder("net")
    network = b.network(
        [b.multiply(b.input("x", (2, 3)), b.reshape(b.input("s", ()), shape=[1, 1]))]
    )
    network, _ = compiled(network, context)
    (answer,) = network.run([np.ones((2, 3), np.float32), np.float32(2.5)]).values()
    assert (answer == 2.5).all()


def test_a_network_that_the_target_cannot_run_is_named(residual, context, monkeypatch):
    def link(*_):
        raise ValueError("float16 needs isa=avx2 or above, not sse4")

    backend = context.host.backend("paper")
    monkeypatch.setattr(type(backend), "link", link)
    with pytest.raises(UsageError, match=r"for paper.*: float16 needs isa=avx2"):
        compiled(residual, context)


def test_a_closed_network_says_so(residual, context):
    network, _ = compiled(residual, context)
    inputs = random_inputs(residual, 4)
    network.run(inputs)
    network.close()
    network.close()
    again = (lambda: copy.copy(network), lambda: pickle.dumps(network))
    runs = (network.time, network.benchmark, lambda: network.run(inputs))
    for act in (*again, *runs, lambda: network.save("saved")):
        with pytest.raises(UsageError, match="the network is closed"):
            act()


def test_latency_has_all_five_figures_and_every_sample(residual, context):
    network, _ = compiled(residual, context)
    latency = network.benchmark(runs=7, warmup=1)
    assert len(latency.seconds) == 7
    assert latency.to_json() == {
        "mean_ms": 1.0, "median_ms": 1.0, "max_ms": 1.0, "min_ms": 1.0, "std_ms": 0.0, "runs": 7,
        "samples_ms": [1.0] * 7,
    }  # fmt: skip
    assert str(latency) == "median 1.000 ms, 1.000 ms to 1.000 ms in 7 runs"


def test_fewer_runs_where_they_would_take_too_long(residual, context):
    network, _ = compiled(residual, context)
    assert len(network.benchmark(runs=100, seconds=0.0105).seconds) == 10
    assert len(network.benchmark(runs=100, seconds=1e-6).seconds) == 3
