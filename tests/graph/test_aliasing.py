"""Concats and slices that copy nothing: which they are, what they cost, and that answers stay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tilewright.errors import UsageError
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright_graph.compiled.compile import compile_network
from tilewright_graph.extraction.extraction import extract
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.evaluate import evaluate
from tilewright_graph.network.random_inputs import random_inputs
from tilewright_graph.selection.assembly import assemble
from tilewright_graph.selection.candidates import Candidate
from tilewright_graph.selection.layout_problem import layout_problem
from tilewright_tensor.operators.operators import Operators


def pooled(b, x):
    return b.max_pool2d(x, pool_size=1)


def dense_block(batch: int = 1, size: int = 4, channels: int = 16):
    """Each concat takes the one before it and something new, as in a DenseNet."""
    b = NetworkBuilder("net")
    first = pooled(b, b.input("x", (batch, channels, size, size)))
    second = b.concat(first, b.exp(first))
    third = b.concat(second, b.tanh(second))
    return b.network([b.relu(third)])


def called(network, context, block: int = 4) -> list[str]:
    extracted = extract(network, context.target, Operators.of(context.host))
    config = ConfigEntity("paper", {"block": block})
    calls = assemble(extracted, lambda task, node: config, context.host).calls
    return [call.task.workload.operator for call in calls]


def test_concats_of_one_image_are_no_calls_and_take_no_epilogue(context):
    assert "concat" not in called(dense_block(), context)
    assert called(dense_block(), context).count("relu") == 1


def gated(batch: int = 1, size: int = 4, channels: int = 16, begin: int = 0):
    """Two runs of a tensor's channels, one the gate of the other, which is read last of all."""
    b = NetworkBuilder("net")
    both = pooled(b, b.input("x", (batch, 3 * channels, size, size)))
    first, second = (cut(b, both, start, start + channels) for start in (begin, begin + channels))
    gate = b.sigmoid(second)
    for _ in range(3):
        gate = pooled(b, b.tanh(gate))
    return b.network([b.relu(b.multiply(gate, first))])


def cut(b, x, begin: int, end: int):
    """Some channels."""
    batch, _, *size = b.specs[x].shape
    return b.slice(x, begin=[0, begin, 0, 0], end=[batch, end, *size])


def concat_of_one():
    """Itself an operand of a concat, and not the first."""
    b = NetworkBuilder("net")
    first = pooled(b, b.input("x", (1, 16, 4, 4)))
    return b.network([b.relu(b.concat(b.exp(first), b.concat(first)))])


@pytest.mark.parametrize("make", [dense_block, gated, concat_of_one])
def test_answers_are_those_of_the_references(context, make):
    network = make()
    operators = Operators.of(context.host)
    extracted = extract(network, context.target, operators)
    compiled, report = compile_network(extracted, context)
    inputs = random_inputs(network, 1)
    (answer,) = compiled.run(inputs).values()
    (expected,) = evaluate(network, inputs, operators).values()
    np.testing.assert_allclose(answer, expected, rtol=1e-5)
    assert report.memory.arena_bytes >= report.memory.bound_bytes


@pytest.mark.parametrize("size", [{"batch": 2}, {"size": 3, "channels": 4}])
def test_operands_that_are_no_aligned_runs_are_copied(context, size):
    assert called(dense_block(**size), context).count("concat") == 2


@pytest.mark.parametrize("block", [1, 4, 8])
def test_slices_that_are_one_run_are_no_calls_and_take_no_epilogue(context, block):
    operators = called(gated(), context, block)
    assert "slice" not in operators
    assert "sigmoid" in operators


@pytest.mark.parametrize(
    ("size", "block"),
    [
        ({"batch": 2}, 1),
        ({"size": 3, "channels": 4, "begin": 1}, 1),
        ({"begin": 4}, 8),
    ],
    ids=["two images", "no cache line", "inside a block"],
)
def test_slices_that_are_no_aligned_runs_are_copied(context, size, block):
    assert called(gated(**size), context, block).count("slice") == 2


def test_what_must_lie_elsewhere_is_cut_by_copying(context):
    """An input's slice, a result, every second channel, several axes, a part of a joined concat."""
    b = NetworkBuilder("net")
    x = b.input("x", (1, 32, 4, 4))
    y = pooled(b, x)
    given, seen = cut(b, x, 0, 16), cut(b, y, 0, 16)
    second = b.slice(y, begin=[0, 0, 0, 0], end=[1, 32, 4, 4], strides=[1, 2, 1, 1])
    corner = b.slice(y, begin=[0, 0, 0, 0], end=[1, 16, 2, 4])
    joined = b.concat(cut(b, y, 0, 16), b.tanh(y))
    network = b.network([b.exp(given), seen, b.exp(second), b.exp(corner), b.exp(joined)])
    assert called(network, context).count("slice") == 5


def test_slices_of_views_and_slices_copy_nothing(context):
    b = NetworkBuilder("net")
    rows = b.reshape(pooled(b, b.input("x", (1, 32, 4, 4))), shape=[8, 64])
    two = b.slice(rows, begin=[2, 0], end=[4, 64])
    one = b.slice(two, begin=[1, 0], end=[2, 64])
    network = b.network([b.tanh(one)])
    assert called(network, context, block=1) == ["max_pool2d", "tanh"]
    operators = Operators.of(context.host)
    compiled, _ = compile_network(extract(network, context.target, operators), context)
    inputs = random_inputs(network, 1)
    (answer,) = compiled.run(inputs).values()
    np.testing.assert_allclose(answer, np.tanh(inputs["x"].reshape(8, 64)[3:4]), rtol=1e-5)


def test_slices_that_copy_nothing_are_not_tuned(context):
    def tasks(network):
        found = extract(network, context.target, Operators.of(context.host)).task_set()
        return [entry.task.workload.operator for entry in found]

    assert "slice" not in tasks(gated())
    b = NetworkBuilder("net")
    network = b.network([b.exp(cut(b, b.input("x", (1, 32, 4, 4)), 0, 16))])
    assert tasks(network) == ["slice"]


def test_a_frozen_run_asks_for_no_record_of_what_is_not_tuned(context, record):
    b = NetworkBuilder("glu")
    both = b.dense(b.input("x", (1, 8)), np.ones((32, 8), np.float32))
    first, second = (b.slice(both, begin=[0, at], end=[1, at + 16]) for at in (0, 16))
    network = b.network([b.multiply(b.sigmoid(second), first)])
    extracted = extract(network, context.target, Operators.of(context.host))
    frozen = replace(context, frozen="sha256:")
    with pytest.raises(UsageError) as told:
        compile_network(extracted, frozen)
    tuned = [entry.task for entry in extracted.task_set()]
    assert len(told.value.each) == 1 + len(tuned) < 1 + len(extracted.kernels)
    for task in tuned:
        record(task, 1, 1e-5)
    _, report = compile_network(extracted, frozen)
    assert report.sources == {"graph choice": 0, "history": len(tuned), "fallback": 0}


def test_channels_that_take_turns_in_memory_are_no_run(context):
    b = NetworkBuilder("net")
    y = pooled(b, b.input("x", (1, 16, 4, 4)))
    network = b.network([b.relu(cut(b, y, 4, 8)), b.tanh(b.concat(b.exp(y), b.neg(y)))])
    extracted = extract(network, context.target, Operators.of(context.host))
    for kernel in extracted.kernels:
        for layout, copies in (("NCHW", False), ("NCHW4c", False), ("N4cCHW", True)):
            if kernel.key in extracted.aliased:
                layouts = Layouts((layout,) * len(kernel.inputs), (layout,))
                assert (extracted.parts_of(kernel, layouts) is None) == copies


def test_what_cannot_be_made_elsewhere_is_copied(context):
    """An input, the same tensor twice, a result; of two concats that read a tensor one copies."""
    b = NetworkBuilder("net")
    x = b.input("x", (1, 16, 4, 4))
    y = pooled(b, x)
    given, twice, seen = b.concat(x, pooled(b, x)), b.concat(y, y), b.concat(b.exp(y), b.tanh(y))
    one, other = b.neg(y), b.sqrt(y)
    joined = [b.concat(one, other), b.concat(other, b.abs(y))]
    network = b.network([b.relu(given), b.relu(twice), seen, *map(b.relu, joined)])
    assert called(network, context).count("concat") == 4


def test_transforms_write_into_the_result(context):
    """A pool in other blocks than the concat: the one call between them is the transform."""
    b = NetworkBuilder("net")
    x = b.input("x", (1, 16, 4, 4))
    network = b.network([pooled(b, b.concat(pooled(b, x), b.exp(x)))])
    extracted = extract(network, context.target, Operators.of(context.host))
    blocks = iter([1, 4, 4, 4, 4, 4, 4, 4])
    assembly = assemble(
        extracted, lambda t, node: ConfigEntity("paper", {"block": next(blocks)}), context.host
    )
    inside = [t.name for t in assembly.tensors.values() if t.within]
    assert len(inside) == 2
    assert {call.write for call in assembly.calls} >= set(inside)


def test_to_a_solver_such_a_concat_is_free(context):
    extracted = extract(dense_block(), context.target, Operators.of(context.host))
    configs = [ConfigEntity("paper", {"block": block}) for block in (1, 4)]
    candidates = {
        kernel.task: [
            Candidate(c, context.host.layouts(kernel.task, c), 1.0, recorded=True) for c in configs
        ]
        for kernel in extracted.kernels
    }
    problem = layout_problem(extracted, lambda kernel: candidates[kernel.task], lambda _: 0.5)
    least = [min(option.seconds for option in own) for own in problem.options]
    operators = [kernel.task.workload.operator for kernel in extracted.kernels]
    assert [
        seconds for seconds, name in zip(least, operators, strict=True) if name == "concat"
    ] == [0, 0]
    assert all(seconds for seconds, name in zip(least, operators, strict=True) if name != "concat")
