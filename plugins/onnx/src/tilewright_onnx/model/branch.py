"""`If` with a constant condition, such as one on shapes: the nodes of the branch that is taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright_onnx.model.node_check import DOMAINS_OF_ONNX
from tilewright_onnx.model.node_site import NodeSite
from tilewright_onnx.model.tensors import array_of


def is_decided(node: Any, known: Mapping[str, Any]) -> bool:
    """Whether it is an `If`, and its condition does not depend on the network's inputs."""
    is_if = node.domain in DOMAINS_OF_ONNX and node.op_type == "If"
    return is_if and len(node.input) == 1 and node.input[0] in known


def taken_branch(
    node: Any, site: NodeSite, known: Mapping[str, Any]
) -> tuple[Sequence[Any], dict[str, Any]]:
    """(nodes that make the outputs of the `If`, values of the constants that they read).

    Inner tensors get names of the node.
    """
    from onnx import GraphProto, helper

    condition = known[node.input[0]]
    if condition.size != 1 or condition.dtype != bool:
        raise site.error(f"If on {condition.dtype}{list(condition.shape)}; expected one truth")
    wanted = "then_branch" if condition.item() else "else_branch"
    branches = [one.g for one in node.attribute if one.name == wanted and one.HasField("g")]
    if len(branches) != 1 or len(branches[0].output) != len(node.output) or branches[0].input:
        raise site.error(f"If without a {wanted} that makes its {len(node.output)} outputs")
    graph = GraphProto()
    graph.CopyFrom(branches[0])
    renamed = {name: f"{site.name}/{name}" for name in _made_in(graph)}
    _rename(graph, renamed)
    constants = {one.name: array_of(one, site.where) for one in graph.initializer}
    given = [
        helper.make_node("Identity", [value.name], [output])
        for value, output in zip(graph.output, node.output, strict=True)
        if output
    ]
    return [*graph.node, *given], constants


def _made_in(graph: Any) -> set[str]:
    """The tensors that a graph has itself, not by the nodes around it."""
    named = {value.name for value in (*graph.initializer, *graph.input)}
    return named.union(name for node in graph.node for name in node.output if name)


def _rename(graph: Any, renamed: Mapping[str, str]) -> None:
    """Give tensors of a graph these names, within the graphs of its nodes as well.

    Where one of those makes a tensor of the same name, it means that.
    """
    for value in graph.initializer:
        value.name = renamed.get(value.name, value.name)
    waiting = [(graph, renamed)]
    while waiting:
        body, names = waiting.pop()
        for value in body.output:
            value.name = names.get(value.name, value.name)
        for node in body.node:
            for some in (node.input, node.output):
                some[:] = [names.get(name, name) for name in some]
            for attribute in node.attribute:
                for inner in (
                    *attribute.graphs,
                    *([attribute.g] if attribute.HasField("g") else []),
                ):
                    own = _made_in(inner)
                    outer = {name: new for name, new in names.items() if name not in own}
                    waiting.append((inner, outer))
