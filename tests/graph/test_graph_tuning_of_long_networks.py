"""Every graph tuner chooses for long and for wide networks, most of whose kernels are alike."""

from __future__ import annotations

import pytest

from tilewright_graph.extraction.extraction import extract
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.selection.effort import Effort
from tilewright_graph.selection.graph_problem import GraphProblem
from tilewright_graph.selection.graph_tuning import tune_graph
from tilewright_graph.selection.solvers.dp import DpOptions, DpTuner
from tilewright_tensor.operators.operators import Operators

COUNT = 120


def _long(b: NetworkBuilder) -> str:
    y = b.input("x", (1, 8, 4, 4))
    for number in range(COUNT):
        z = b.max_pool2d(y, pool_size=1)
        y = b.add(z, y) if number % 3 == 2 else z
    return y


def _wide(b: NetworkBuilder) -> str:
    root = b.max_pool2d(b.input("x", (1, 8, 4, 4)), pool_size=1)
    y, *others = [b.max_pool2d(root, pool_size=1) for _ in range(COUNT)]
    for other in others:
        y = b.max_pool2d(b.add(y, other), pool_size=1)
    return y


@pytest.mark.parametrize("tuner", ["greedy", "pbqp", "dp", "exact"])
@pytest.mark.parametrize("network", [_long, _wide])
def test_a_config_is_chosen_for_every_kernel(tuner, network, context, measured, record):
    b = NetworkBuilder("network")
    extracted = extract(b.network([network(b)]), context.target, Operators.of(context.host))
    for kernel in {kernel.task: kernel for kernel in extracted.kernels}.values():
        for block, seconds in ((1, 3e-5), (2, 2.5e-5), (4, 2e-5), (8, 1e-5)):
            record(kernel.task, block, seconds * len(kernel.inputs))
    made = context.host.make("graph_tuner", tuner, {}, context.host)
    choice = tune_graph(extracted, made, context, Effort())
    assert choice.configs.keys() == {kernel.key for kernel in extracted.kernels}


def test_a_dynamic_program_needs_no_axis_for_kernels_without_a_choice():
    """One kernel that a hundred read, and one candidate for each of these: two would be enough."""
    readers = 100
    problem = GraphProblem(
        costs=((1.0, 2.0), *((1.0,) for _ in range(readers))),
        edges={(0, reader): ((1.0,), (0.5,)) for reader in range(1, readers + 1)},
    )
    solution = DpTuner(DpOptions()).solve(problem)
    assert solution.choice == (1, *(0 for _ in range(readers)))
    assert solution.cost == 2.0 + readers * 1.5
