"""Networks of very many nodes: no recursion over them, and nothing that grows faster than they do."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
from tilewright.vocabulary.target import Target
from tilewright_graph.extraction import memory_plan
from tilewright_graph.extraction.extraction import extract
from tilewright_graph.extraction.memory_plan import Lifetime, plan_memory
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.evaluate import evaluate
from tilewright_graph.network.expression_size import MOST_OPERANDS, MOST_OPERATIONS
from tilewright_graph.passes.rewrite import rewrite
from tilewright_tensor.expressions.expr import leaves
from tilewright_tensor.operators.operators import builtin_operators
from tilewright_tensor.schedule.schedule import Schedule

WIDTH = 24
TARGET = Target("x86", {"threads": "1"})


def _chain(kind: str, count: int):
    numbers = np.random.default_rng(0)
    b = NetworkBuilder(kind)
    x = b.input("x", (1, WIDTH))
    if kind == "constants":
        y = x
        for _ in range(count):
            y = b.relu(b.add(y, numbers.uniform(-1, 1, (1, WIDTH)).astype("f4")))
    elif kind == "branches":
        y = b.concat(*(b.tanh(b.add(x, np.full((1, WIDTH), i, "f4"))) for i in range(count)))
    elif kind == "sum":
        y, *others = [b.tanh(b.multiply(x, np.full((1, WIDTH), i, "f4"))) for i in range(count)]
        for other in others:
            y = b.add(y, other)
    elif kind == "layers":
        y = x
        for _ in range(count):
            y = b.dense(y, numbers.uniform(-0.3, 0.3, (WIDTH, WIDTH)).astype("f4"))
    else:
        y = x
        for _ in range(count):
            y = b.apply(kind, [y])
    return b.network([y])


@pytest.mark.needs("x86")
@pytest.mark.parametrize(
    ("kind", "count"),
    [("constants", 400), ("branches", 600), ("sum", 600), ("layers", 600), ("gelu", 40)],
)
def test_hundreds_of_nodes_compile_and_are_right(kind, count):
    network = _chain(kind, count)
    x = np.random.default_rng(1).uniform(-1, 1, (1, WIDTH)).astype("f4")
    (expected,) = evaluate(network, {"x": x}, builtin_operators()).values()
    compiled = tilewright.compile(network, target=str(TARGET))
    (found,) = compiled.run([x]).values()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["gelu", "hard_swish", "relu", "constants"])
def test_the_expression_of_a_kernel_has_a_bounded_size(kind):
    extracted = extract(_chain(kind, 300), TARGET, builtin_operators())
    assert len(extracted.kernels) > 1
    for kernel in extracted.kernels:
        schedule = Schedule.of(builtin_operators().compute_dag(kernel.task.workload))
        for name in list(schedule.stages)[:-1]:
            schedule = schedule.inline(name)
        (stage,) = schedule.stages.values()
        assert len(leaves(stage.body)) <= MOST_OPERATIONS
        assert len(kernel.inputs) <= MOST_OPERANDS


def test_short_chains_are_one_kernel():
    extracted = extract(_chain("constants", 20), TARGET, builtin_operators())
    assert len(extracted.kernels) == 1


def test_equal_names_are_numbered_whatever_their_count():
    b = NetworkBuilder("net")
    y = b.input("x", (1, 2))
    for _ in range(5):
        y = b.relu(y)
    assert [node.output for node in b.network([y]).nodes] == [
        "relu", "relu_2", "relu_3", "relu_4", "relu_5",
    ]  # fmt: skip


def test_a_rule_may_put_a_tensor_of_another_shape_in_place_of_one():
    b = NetworkBuilder("net")
    x = b.input("x", (1, 6))
    network = b.network([b.relu(b.tanh(b.identity(x)))])

    def wider(node, _network, builder):
        if node.operator != "identity":
            return None
        return builder.concat(node.inputs[0], node.inputs[0])

    changed = rewrite(network, builtin_operators(), wider)
    assert changed.specs[changed.outputs[0]].shape == (1, 12)


@pytest.mark.parametrize("seed", range(20))
def test_tensors_placed_in_order_of_execution_do_not_overlap(seed, monkeypatch):
    monkeypatch.setattr(memory_plan, "_MANY", 0)
    chance = np.random.default_rng(seed)
    tensors = [
        Lifetime(f"t{i}", int(chance.integers(1, 4000)), i, i + int(chance.integers(0, 9)))
        for i in range(60)
    ]
    plan = plan_memory(tensors)
    assert plan.bound_bytes <= plan.arena_bytes <= 2 * plan.bound_bytes
    for one in tensors:
        assert plan.offsets[one.name] % memory_plan.ALIGNMENT == 0
        assert plan.offsets[one.name] + one.bytes <= plan.arena_bytes
        for other in tensors:
            together = one.first <= other.last and other.first <= one.last
            if one.name < other.name and together:
                first, second = sorted((one, other), key=lambda t: plan.offsets[t.name])
                assert plan.offsets[first.name] + first.bytes <= plan.offsets[second.name]
