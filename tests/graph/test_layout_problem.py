"""What a network becomes for solvers: its numbers are those of the assembled network."""

from __future__ import annotations

from itertools import product

import pytest

from tilewright.config import ConfigEntity
from tilewright_graph.assembly import assemble
from tilewright_graph.builder import NetworkBuilder
from tilewright_graph.candidates import Candidate
from tilewright_graph.extraction import extract
from tilewright_graph.layout_problem import layout_problem
from tilewright_tensor.operators.operators import Operators

CONFIGS = [ConfigEntity("paper", {"block": block}) for block in (1, 4, 8)]


def transform_seconds(task) -> float:
    """Any fixed number for a transform."""
    return 0.1 + int(task.workload.key[:4], 16) / 65536


def costs_and_calls(network, context):
    """(cost of the problem, cost of the assembled calls) of every choice."""
    host = context.host
    extracted = extract(network, context.target, Operators.of(host))
    candidates = {
        kernel.task: [
            Candidate(c, host.layouts(kernel.task, c), 1.0 + c["block"], recorded=True)
            for c in CONFIGS
        ]
        for kernel in extracted.kernels
    }
    problem = layout_problem(extracted, candidates, transform_seconds).problem
    picked: dict[str, int] = {}
    for choice in product(range(3), repeat=len(extracted.kernels)):
        picked.update(zip((k.key for k in extracted.kernels), choice, strict=True))
        calls = assemble(extracted, lambda task, node: CONFIGS[picked.get(node, 0)], host).calls
        spent = [
            transform_seconds(call.task)
            if call.task.workload.operator == "layout_transform"
            else 1.0 + call.config["block"]
            for call in calls
        ]
        yield problem.cost(choice), sum(spent)


def test_without_shared_tensors_every_choice_costs_what_its_calls_cost(context):
    """From the input, through a view, into a sum of two branches, to the output."""
    b = NetworkBuilder("net")
    x = b.input("x", (1, 8, 4, 4))
    y = b.max_pool2d(x, pool_size=2, strides=2)
    z = b.max_pool2d(b.reshape(y, shape=[1, 16, 2, 1]), pool_size=1)
    other = b.input("other", (1, 16, 2, 1))
    network = b.network([b.add(z, b.max_pool2d(other, pool_size=1))])
    for cost, spent in costs_and_calls(network, context):
        assert cost == pytest.approx(spent)


def test_with_shared_tensors_the_problem_is_an_upper_bound(context):
    """Two readers in one layout share the transform, and a result in logical order serves a reader."""
    b = NetworkBuilder("net")
    y = b.max_pool2d(b.input("x", (1, 8, 4, 4)), pool_size=2)
    v = b.add(b.max_pool2d(y, pool_size=1), y)
    pairs = list(costs_and_calls(b.network([v], observed=[y]), context))
    assert all(cost >= spent - 1e-9 for cost, spent in pairs)
    assert any(cost > spent + 1e-9 for cost, spent in pairs)
    assert any(cost == pytest.approx(spent) for cost, spent in pairs)
