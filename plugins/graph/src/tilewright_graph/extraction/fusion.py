"""Which nodes become one kernel."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tilewright_graph.extraction.aliasing import is_inner_run
from tilewright_graph.network.expression_size import MOST_OPERANDS, MOST_OPERATIONS, ExpressionSizes
from tilewright_graph.network.network import Network, Node
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
    only reader and keeps its shape and dtype; of several such groups the latest in topological
    order. Reshapes, concats and slices that are one run get none: it would make them pass over
    memory that they need not touch. A group runs where its last node stood, so everything it reads
    is there: what leaves a group is read behind its last node only, and no cycle can arise. Where
    a group would need more than `MOST_OPERANDS` or its expression become larger than
    `MOST_OPERATIONS`, the next group begins.
    """
    members: list[list[Node]] = []
    group_of: dict[str, int] = {}
    last: dict[int, int] = {}
    sizes, size_of = ExpressionSizes(network, operators), dict[int, int]()
    operands: Counter[int] = Counter()
    for position, node in enumerate(network.nodes):
        host = _group_to_join(node, network, operators, group_of, last)
        if host is not None:
            running = members[host][-1]
            before = size_of.get(host) or sizes.alone(running)
            size_of[host] = sizes.fused(node, running.output, before)
            more = operands[host] + len(node.inputs) - 1
            if size_of[host] > MOST_OPERATIONS or more > MOST_OPERANDS:
                host = None
        if host is None:
            host = len(members)
            members.append([])
        operands[host] += len(node.inputs) - bool(members[host])
        members[host].append(node)
        group_of[node.output] = host
        last[host] = position
    return tuple(Group(tuple(members[index])) for index in sorted(last, key=last.__getitem__))


def _group_to_join(
    node: Node,
    network: Network,
    operators: Operators,
    group_of: dict[str, int],
    last: dict[int, int],
) -> int | None:
    if not operators[node.operator].elementwise:
        return None
    rank = len(network.specs[node.output].shape)
    if any(len(network.specs[name].shape) != rank for name in node.inputs):
        return None
    joinable = [
        group_of[name]
        for name in node.inputs
        if name in group_of
        and network.readers[name] == 1
        and network.specs[name] == network.specs[node.output]
        and not _is_alone(network.producers[name], network, operators)
    ]
    return max(joinable, key=last.__getitem__, default=None)


def _is_alone(node: Node, network: Network, operators: Operators) -> bool:
    definition = operators[node.operator]
    moves_nothing = definition.view or definition.concatenates
    return moves_nothing or is_inner_run(network, node, definition)
