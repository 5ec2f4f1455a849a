"""Every graph within a model, however deep, without recursion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def graphs_of(proto: Any) -> Iterator[Any]:
    """The model's graph, its functions, and the graphs that their nodes carry as attributes."""
    for body in (proto.graph, *proto.functions):
        yield from graphs_within(body)


def graphs_within(body: Any) -> Iterator[Any]:
    """A graph or function, then the graphs that its nodes carry as attributes."""
    waiting = [body]
    while waiting:
        graph = waiting.pop()
        yield graph
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    waiting.append(attribute.g)
                waiting.extend(attribute.graphs)
