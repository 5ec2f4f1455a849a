"""Concats whose operands are made in place: which are, what they cost, and that answers stay."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.config import ConfigEntity
from tilewright_graph.assembly import assemble
from tilewright_graph.builder import NetworkBuilder
from tilewright_graph.candidates import Candidate
from tilewright_graph.compile import compile_network
from tilewright_graph.evaluate import evaluate
from tilewright_graph.extraction import extract
from tilewright_graph.layout_problem import layout_problem
from tilewright_graph.random_inputs import random_inputs
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


@pytest.mark.parametrize("block", [1, 4, 8])
def test_answers_are_those_of_the_references(context, block):
    network = dense_block()
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
    problem = layout_problem(extracted, candidates.__getitem__, lambda task: 0.5)
    least = [min(option.seconds for option in own) for own in problem.options]
    operators = [kernel.task.workload.operator for kernel in extracted.kernels]
    assert [
        seconds for seconds, name in zip(least, operators, strict=True) if name == "concat"
    ] == [0, 0]
    assert all(seconds for seconds, name in zip(least, operators, strict=True) if name != "concat")
