"""Which nodes become one kernel."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from tilewright_graph.extraction.aliasing import is_inner_run
from tilewright_graph.network.expression_size import MOST_OPERANDS, MOST_OPERATIONS, ExpressionSizes
from tilewright_graph.network.network import Network, Node
from tilewright_tensor.operators.definition.tail import Tail
from tilewright_tensor.operators.operators import Operators


@dataclass(frozen=True, slots=True)
class Group:
    """An anchor and the element-wise nodes fused after it, in execution order."""

    nodes: tuple[Node, ...]

    @property
    def anchor(self) -> Node:
        return self.nodes[0]

    @property
    def output(self) -> str:
        """The one tensor that leaves the group."""
        return self.nodes[-1].output


def fuse(network: Network, operators: Operators) -> tuple[Group, ...]:
    """Every node in one group; groups in execution order.

    An element-wise node joins the group that makes one of its operands, where it is that tensor's
    only reader, keeps its shape, and rounds at most as an epilogue may (`Tail`); of several such
    groups the latest in topological order. Programs get none, nor do reshapes, concats and slices
    that are one run: it would make these pass over memory that they need not touch. A group runs
    where its last node stood, so everything it reads is there: what leaves a group is read behind
    its last node only, and no cycle can arise. Where a group would need more than `MOST_OPERANDS`
    or its expression become larger than `MOST_OPERATIONS`, the next group begins.
    """
    every: list[_OpenGroup] = []
    group_of: dict[str, _OpenGroup] = {}
    sizes = ExpressionSizes(network, operators)
    for position, node in enumerate(network.nodes):
        group, tail = _group_to_join(node, network, operators, group_of)
        if group is not None:
            running = group.nodes[-1]
            group.size = sizes.fused(node, running.output, group.size or sizes.alone(running))
            more = group.operands + len(node.inputs) - 1
            if group.size > MOST_OPERATIONS or more > MOST_OPERANDS:
                group = None
        if group is None:
            inputs = [network.specs[name] for name in node.inputs]
            tail = Tail.of_anchor(operators[node.operator], inputs, network.specs[node.output])
            group = _OpenGroup()
            every.append(group)
        group.operands += len(node.inputs) - bool(group.nodes)
        group.nodes.append(node)
        group.last, group.tail = position, tail
        group_of[node.output] = group
    every.sort(key=lambda group: group.last)
    return tuple(Group(tuple(group.nodes)) for group in every)


@dataclass(slots=True)
class _OpenGroup:
    """A group that nodes may still join.

    last      place of its last node in the network
    size      of its expression, 0 while it has one node
    operands  that it reads
    """

    nodes: list[Node] = field(default_factory=list)
    tail: Tail = field(default_factory=Tail)
    last: int = 0
    size: int = 0
    operands: int = 0


def _group_to_join(
    node: Node, network: Network, operators: Operators, group_of: Mapping[str, _OpenGroup]
) -> tuple[_OpenGroup | None, Tail]:
    """(the group, how its epilogue ends with the node); None where it begins one of its own."""
    definition, output = operators[node.operator], network.specs[node.output]
    rank = len(output.shape)
    if not definition.elementwise or any(
        len(network.specs[name].shape) != rank for name in node.inputs
    ):
        return None, Tail()
    joinable = []
    for position, name in enumerate(node.inputs):
        group, running = group_of.get(name), network.specs[name]
        if (
            group is not None
            and network.readers[name] == 1
            and running.shape == output.shape
            and not _is_alone(network.producers[name], network, operators)
        ):
            others = range(len(node.inputs) - 1)
            with suppress(ValueError):
                tail = group.tail.after(definition, position, others, running, output)
                joinable.append((group, tail))
    return max(joinable, key=lambda one: one[0].last, default=(None, Tail()))


def _is_alone(node: Node, network: Network, operators: Operators) -> bool:
    definition = operators[node.operator]
    if definition.program is not None or definition.view or definition.concatenates:
        return True
    return is_inner_run(network, node, definition)
