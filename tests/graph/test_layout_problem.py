"""What a network becomes for solvers: its numbers are those of the assembled network."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from tilewright.errors import UsageError
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright_graph.extraction.extraction import extract
from tilewright_graph.extraction.transforms import TRANSFORM
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.selection.assembly import assemble
from tilewright_graph.selection.candidates import Candidate
from tilewright_graph.selection.layout_problem import layout_problem
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.operators.operators import Operators

CONFIGS = [ConfigEntity("paper", {"block": block}) for block in (1, 4, 8)]


def transform_seconds(task) -> float:
    """Any fixed number for a transform."""
    return 0.1 + int(task.workload.key[:4], 16) / 65536


def problem_of(network, context, seconds=transform_seconds):
    host = context.host
    extracted = extract(network, context.target, Operators.of(host))
    candidates = {
        kernel.task: [
            Candidate(c, host.layouts(kernel.task, c), 1.0 + c["block"], recorded=True)
            for c in CONFIGS
        ]
        for kernel in extracted.kernels
    }
    return extracted, layout_problem(extracted, lambda kernel: candidates[kernel.task], seconds)


def costs_and_calls(network, context):
    """(cost of the problem at its best, cost of the assembled calls) of every choice of configs."""
    extracted, made = problem_of(network, context)
    best: dict[tuple[ConfigEntity, ...], float] = {}
    for choice in product(*(range(len(own)) for own in made.options)):
        configs = tuple(made.configs(choice).values())
        cost = made.problem.cost(choice)
        if cost is None:  # no such choice: a view is not stored as what it views
            continue
        best[configs] = min(cost, best.get(configs, cost))
    for configs, cost in best.items():
        picked = dict(zip((kernel.key for kernel in extracted.kernels), configs, strict=True))
        calls = assemble(extracted, lambda _, node, own=picked: own.get(node), context.host).calls
        spent = [
            transform_seconds(call.task)
            if call.task.workload.operator == TRANSFORM
            else 1.0 + call.config["block"]
            for call in calls
        ]
        yield cost, sum(spent)


def chain_with_view():
    """From the input, through a view, into a sum of two branches, to the output."""
    b = NetworkBuilder("net")
    x = b.input("x", (1, 8, 4, 4))
    y = b.max_pool2d(x, pool_size=2, strides=2)
    z = b.max_pool2d(b.reshape(y, shape=[1, 16, 2, 1]), pool_size=1)
    other = b.input("other", (1, 16, 2, 1))
    return b.network([b.add(z, b.max_pool2d(other, pool_size=1))])


def shared_tensor():
    """Two readers of one tensor, which is a result besides."""
    b = NetworkBuilder("net")
    y = b.max_pool2d(b.input("x", (1, 8, 4, 4)), pool_size=2)
    return b.network([b.add(b.max_pool2d(y, pool_size=1), y)], observed=[y])


def shared_input_and_view():
    """An input and a view that two kernels read each; one of them reads a tensor twice."""
    b = NetworkBuilder("net")
    x = b.input("x", (1, 8, 4, 4))
    y = b.add(b.max_pool2d(x, pool_size=1), b.avg_pool2d(x, pool_size=1))
    view = b.reshape(y, shape=[1, 8, 2, 8])
    return b.network([b.add(b.max_pool2d(view, pool_size=1), view)])


def four_readers():
    """Two layouts may each be worth their place."""
    b = NetworkBuilder("net")
    y = b.max_pool2d(b.input("x", (1, 8, 4, 4)), pool_size=1)
    parts = [b.max_pool2d(y, pool_size=size, padding=size // 2) for size in (1, 3, 5, 7)]
    return b.network(parts)


def concat_in_place():
    """Blocked operands lie side by side; another reader wants one of them too."""
    b = NetworkBuilder("net")
    x = b.input("x", (1, 8, 4, 4))
    left, right = b.max_pool2d(x, pool_size=1), b.avg_pool2d(x, pool_size=1)
    joined = b.concat(left, right, axis=1)
    return b.network([b.max_pool2d(joined, pool_size=1), b.max_pool2d(left, pool_size=1)])


def one_by_one():
    """Channels only: every layout is the same memory."""
    b = NetworkBuilder("net")
    y = b.max_pool2d(b.input("x", (1, 8, 4, 4)), pool_size=4)
    return b.network([b.add(b.max_pool2d(y, pool_size=1), y)])


@pytest.mark.parametrize(
    "network",
    [
        chain_with_view,
        shared_tensor,
        shared_input_and_view,
        four_readers,
        concat_in_place,
        one_by_one,
    ],
)
def test_a_choice_costs_what_its_calls_cost(network, context):
    pairs = list(costs_and_calls(network(), context))
    assert len(pairs) > 3
    for cost, spent in pairs:
        assert cost == pytest.approx(spent)


class _LogicalSums:
    """A host whose kernels read what their epilogue adds in logical order."""

    def __init__(self, host):
        self._host = host

    def __getattr__(self, name):
        return getattr(self._host, name)

    def layouts(self, task, config):
        found = self._host.layouts(task, config)
        if not task.workload.epilogue:
            return found
        return replace(found, inputs=(found.inputs[0], "NCHW"))


def test_kernels_may_share_a_tensor_in_two_layouts_each(context):
    """Both sums read y blocked and logical: two transforms serve two kernels each."""
    b = NetworkBuilder("net")
    y = b.max_pool2d(b.input("x", (1, 8, 4, 4)), pool_size=1)
    pools = [b.max_pool2d(y, pool_size=size, padding=size // 2) for size in (3, 5)]
    network = b.network([b.add(pool, y) for pool in pools])
    pairs = list(costs_and_calls(network, replace(context, host=_LogicalSums(context.host))))
    assert len(pairs) == 27
    for cost, spent in pairs:
        assert cost == pytest.approx(spent)


class _Rounded:
    """A host whose kernels store bfloat16, in logical order, where they would have blocks of 4."""

    def __init__(self, host):
        self._host = host

    def __getattr__(self, name):
        return getattr(self._host, name)

    def layouts(self, task, config):
        found = self._host.layouts(task, config)
        plain = [text.replace("NCHW4c", "NCHW:bfloat16") for text in found.inputs]
        output = found.outputs[0].replace("NCHW4c", "NCHW:bfloat16")
        return replace(found, inputs=tuple(plain), outputs=(output,))


def views_of_views():
    """Two views of one tensor, one of them through another, each with readers; one is shared."""
    b = NetworkBuilder("net")
    y = b.max_pool2d(b.input("x", (1, 8, 4, 4)), pool_size=1)
    flat = b.reshape(y, shape=[1, 8, 2, 8])
    wide = b.reshape(b.reshape(y, shape=[128]), shape=[1, 16, 4, 2])
    return b.network(
        [b.add(b.max_pool2d(flat, pool_size=1), flat), b.max_pool2d(wide, pool_size=1)]
    )


def shuffled():
    """A tensor read as it is and with its channels shuffled, which two kernels read."""
    b = NetworkBuilder("net")
    y = b.max_pool2d(b.input("x", (1, 16, 2, 2)), pool_size=1)
    apart = b.transpose(b.reshape(y, shape=[1, 2, 8, 2, 2]), axes=[0, 2, 1, 3, 4])
    view = b.reshape(apart, shape=[1, 16, 2, 2])
    return b.network([b.add(b.max_pool2d(view, pool_size=1), view), b.avg_pool2d(y, pool_size=1)])


@pytest.mark.parametrize(
    "network", [chain_with_view, shared_input_and_view, views_of_views, shuffled]
)
def test_choices_with_views_cost_what_their_calls_cost(network, context):
    """A view is stored as what it views, where that is in logical order."""
    pairs = list(costs_and_calls(network(), replace(context, host=_Rounded(context.host))))
    assert len(pairs) > 3
    for cost, spent in pairs:
        assert cost == pytest.approx(spent)


def test_no_transform_stands_between_kernels_of_bfloat16_and_a_view(context):
    rounded = replace(context, host=_Rounded(context.host))
    extracted = extract(views_of_views(), context.target, Operators.of(context.host))
    calls = assemble(extracted, lambda _task, _node: CONFIGS[1], rounded.host).calls
    moved = [call.node for call in calls if call.task.workload.operator == TRANSFORM]
    assert [node.partition(":")[2] for node in moved] == [
        "NCHW->NCHW:bfloat16",  # from the input, and to the two results
        "NCHW:bfloat16->NCHW",
        "NCHW:bfloat16->NCHW",
    ]


class _Turning:
    """A host whose transposes leave elements where they are instead of reading blocks of 4."""

    def __init__(self, host):
        self._host = host

    def __getattr__(self, name):
        return getattr(self._host, name)

    def layouts(self, task, config):
        if task.workload.operator != "transpose" or config["block"] != 4:
            return self._host.layouts(task, config)
        order = task.workload.attributes["axes"]
        return Layouts(("NCHW",), (Layout.parse("NCHW").turned(order).text,))


def turned():
    """A transpose with two readers, of a tensor that has another reader; and one of an input."""
    b = NetworkBuilder("net")
    x = b.input("x", (1, 8, 4, 4))
    y = b.max_pool2d(x, pool_size=1)
    z = b.transpose(y, axes=[0, 2, 3, 1])
    pools = [b.max_pool2d(one, pool_size=1) for one in (y, z)]
    return b.network([b.add(pools[1], z), pools[0], b.exp(b.transpose(x, axes=[0, 1, 3, 2]))])


def test_transposes_that_move_nothing_are_no_calls_and_cost_nothing(context):
    turning = replace(context, host=_Turning(context.host))
    pairs = list(costs_and_calls(turned(), turning))
    assert len(pairs) > 3
    for cost, spent in pairs:
        assert cost == pytest.approx(spent)
    extracted = extract(turned(), context.target, Operators.of(context.host))
    for config, copies in ((CONFIGS[1], 1), (CONFIGS[0], 2)):
        calls = assemble(extracted, lambda _task, _node, own=config: own, turning.host).calls
        operators = [call.task.workload.operator for call in calls]
        assert operators.count("transpose") == copies, "that of the input copies"


def test_parts_that_are_not_connected_are_one_problem(context):
    b = NetworkBuilder("net")
    outputs = [b.max_pool2d(b.input(name, (1, 8, 4, 4)), pool_size=2) for name in ("x", "y")]
    extracted, made = problem_of(b.network(outputs), context)
    assert len(made.options) == len(extracted.kernels) == 2
    assert not made.problem.edges


def test_constants_are_brought_into_a_layout_before_the_run(context):
    """The bias is read in the layout of the sum, whatever that is, and costs nothing."""
    import numpy as np

    b = NetworkBuilder("net")
    y = b.max_pool2d(b.input("x", (1, 8, 1, 1)), pool_size=1)
    _, made = problem_of(b.network([b.add(y, np.ones((1, 8, 1, 1), np.float32))]), context)
    assert [cost for own in made.problem.costs for cost in own] == [2.0, 5.0, 9.0]


def test_a_transform_that_cannot_be_is_a_forbidden_pair(context):
    def seconds(task):
        sides = task.workload.attributes
        return None if (sides["src"], sides["dst"]) == ("NCHW4c", "NCHW8c") else 0.5

    _, made = problem_of(chain_with_view(), context, seconds)
    ((producer, consumer),) = made.problem.edges
    (matrix,) = made.problem.edges.values()
    for option, row in zip(made.options[producer], matrix, strict=True):
        blocks = [reader.candidate.config["block"] for reader in made.options[consumer]]
        expected = {
            "NCHW": {1: 0.0, 4: 0.5, 8: 0.5},
            "NCHW4c": {1: 0.5, 4: 0.0, 8: None},
            "NCHW8c": {1: 0.5, 4: 0.5, 8: 0.0},
        }[option.made]
        assert row == tuple(expected[block] for block in blocks)


def test_a_candidate_whose_input_cannot_be_brought_is_left_out(context):
    _, made = problem_of(chain_with_view(), context, lambda _: None)
    assert {option.made for option in made.options[0]} == {"NCHW"}


def test_a_kernel_that_no_transform_reaches_is_named(context):
    def blocked_only(task):
        return [c for c in everything(task) if c.config["block"] == 4]

    b = NetworkBuilder("net")
    network = b.network([b.max_pool2d(b.input("x", (1, 8, 4, 4)), pool_size=2, name="poor")])
    extracted = extract(network, context.target, Operators.of(context.host))

    def everything(task):
        return [Candidate(c, context.host.layouts(task, c), 1.0, recorded=True) for c in CONFIGS]

    with pytest.raises(UsageError, match="node 'poor': every layout of it needs a transform"):
        layout_problem(extracted, lambda kernel: blocked_only(kernel.task), lambda _: None)
