"""A model's structure before any node is read: names, order, opsets, and functions put in place."""

from __future__ import annotations

from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from typing import Any

from tilewright.errors import UsageError
from tilewright_onnx.model.graph_walk import graphs_of, graphs_within
from tilewright_onnx.model.node_check import DOMAINS_OF_ONNX

_OLDEST = 7
"""The opset since which operands are broadcast from the right; ONNX Runtime reads no older one."""

_MOST_NODES, _DEEPEST = 100_000, 64
"""Nodes once functions are put in place; functions within functions."""

_COUNTLESS = 2**62
"""What doubles from function to function is not counted beyond."""

_FREE_BYTES, _GROWTH = 2**26, 4
"""What functions may take when put in place: so much, and so many times as much as the model."""


def checked_model(proto: Any, name: str) -> tuple[Any, dict[str, int]]:
    """(the model without functions of its own, version of the opset of each domain).

    Raises UsageError, with the model's name as place, for an invalid model.
    """
    from onnx import defs
    from onnx.inliner import inline_local_functions

    def check(condition: Any, problem: str, remedy: str = "") -> None:
        if not condition:
            raise UsageError(problem, where=name, remedy=remedy or "export or copy the model again")

    check(proto.graph.node and proto.opset_import, "no ONNX model, or cut short: it has no nodes")
    opsets: dict[str, int] = {}
    for one in proto.opset_import:
        domain = "" if one.domain in DOMAINS_OF_ONNX else one.domain
        opsets[domain] = max(one.version, opsets.get(domain, 0))
    check("" in opsets, "the model does not say of which opset ONNX's own operators are")
    opset, newest = opsets[""], defs.onnx_opset_version()
    check(
        opset >= _OLDEST,
        f"the model is of opset {opset}; expected {_OLDEST} or later",
        f"onnx.version_converter.convert_version(model, {_OLDEST}) raises it",
    )
    check(
        opset <= newest,
        f"the model is of opset {opset}; the onnx package that is installed knows {newest}",
        "install a newer one, or export the model for an earlier opset",
    )
    few = f"at most {_MOST_NODES} are read"
    count = sum(len(body.node) for body in (proto.graph, *proto.functions))
    check(count <= _MOST_NODES, f"the model has {count} nodes", few)
    check(not _unreadable_text(proto), "a name in the model is no text")
    count, size = _expanded(proto, name)
    check(count <= _MOST_NODES, f"the model has {count} nodes with its functions put in place", few)
    grown = f"the model has {size} bytes with its functions put in place"
    check(size <= _FREE_BYTES + _GROWTH * proto.ByteSize(), grown, "make their constants inputs")
    if proto.functions:
        try:
            proto = inline_local_functions(proto)
        except Exception as error:
            reason = str(error).partition("\n")[0]
            raise UsageError(f"a function of the model is none: {reason}", where=name) from error
    graph = proto.graph
    check(not graph.sparse_initializer, "it has sparse tensors, which are not read")
    check(graph.output, "the graph has no outputs")
    _check_once(name, "input", (value.name for value in graph.input))
    _check_once(name, "output", (value.name for value in graph.output))
    weights = [tensor.name for tensor in graph.initializer]
    given = {value.name for value in graph.input}.difference(weights)
    made = (output for node in graph.node for output in node.output if output)
    _check_once(name, "tensor", chain(given, weights, made))
    _check_order(name, graph.node, {*given, *weights})
    return proto, opsets


def node_name(node: Any, index: int) -> str:
    """What a node is called, be it by its place."""
    return node.name or f"{node.op_type}_{index}"


def _check_order(name: str, nodes: Iterable[Any], made: set[str]) -> None:
    """Nodes read what is made before them, and make something."""
    for index, node in enumerate(nodes):
        late = [tensor for tensor in node.input if tensor and tensor not in made]
        if late or not any(node.output):
            problem = f"reads {late[0]!r}, which no node before it makes" if late else "no outputs"
            raise UsageError(problem, where=f"{name}: node {node_name(node, index)!r}")
        made.update(node.output)


def _unreadable_text(proto: Any) -> bool:
    """Whether a name is no UTF-8: Protobuf gives its bytes then."""
    values = (*proto.graph.input, *proto.graph.output, *proto.graph.initializer)
    names = [value.name for value in values]
    for graph in graphs_of(proto):
        for node in graph.node:
            names += [node.name, node.op_type, node.domain, *node.input, *node.output]
            names += [one.name for one in node.attribute]
    return any(isinstance(name, bytes) for name in names)


def _check_once(name: str, what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for one in names:
        if not one or one in seen:
            problem = f"two {what}s are named {one!r}" if one else f"an {what} has no name"
            raise UsageError(problem, where=name, remedy="export or copy the model again")
        seen.add(one)


def _expanded(proto: Any, name: str) -> tuple[int, int]:
    """(nodes, bytes) when every call of a function is what it stands for."""
    bodies = {(one.domain, one.name, one.overload): one for one in proto.functions}
    own: dict[Any, tuple[int, int]] = {}
    calls: dict[Any, list[Any]] = {}
    for key, body in (*bodies.items(), (None, proto.graph)):
        nodes = [node for graph in graphs_within(body) for node in graph.node]
        called = [(node.domain, node.op_type, node.overload) for node in nodes]
        own[key], calls[key] = (
            (len(nodes), body.ByteSize()),
            [one for one in called if one in bodies],
        )
    try:
        order = list(TopologicalSorter(calls).static_order())
    except CycleError as error:
        cycle = " -> ".join(key[1] for key in error.args[1])
        raise UsageError(f"functions of the model call themselves: {cycle}", where=name) from None
    total: dict[Any, tuple[int, int]] = {}
    depth: dict[Any, int] = {}
    for key in order:
        every = [own[key], *(total[one] for one in calls[key])]
        total[key] = (
            min(_COUNTLESS, sum(count for count, _ in every)),
            min(_COUNTLESS, sum(size for _, size in every)),
        )
        depth[key] = 1 + max((depth[one] for one in calls[key]), default=0)
    if max(depth.values()) > _DEEPEST:
        problem = f"functions of the model are within each other {max(depth.values())} deep"
        raise UsageError(problem, where=name, remedy=f"at most {_DEEPEST} are read")
    return total[None]
