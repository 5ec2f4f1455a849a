"""What flows through a network in which layout: kernels, and between them transforms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.task import Task
from tilewright_graph.extraction.extraction import ExtractedNetwork
from tilewright_graph.extraction.transforms import (
    canonical_layout,
    logical_layout,
    transform_task,
)

Kind = Literal["input", "kernel", "view", "result"]


@dataclass(frozen=True, slots=True)
class FlowNode:
    """Inputs, views and results are of fixed layout; a kernel's is that of its config.

    key        the kernel's, or the tensor's name
    layouts    of what it makes and what it reads first; one where these are equal
    precision  of a kernel's products
    """

    key: str
    kind: Kind
    name: str
    layouts: tuple[str, ...]
    precision: str = ""


@dataclass(frozen=True, slots=True)
class FlowEdge:
    """A tensor from its maker to a reader, by their places among the nodes.

    transform  the task that brings it into the layout it is read in, None where it already is;
               readers of one tensor in one layout share it
    """

    tensor: str
    maker: int
    reader: int
    transform: Task | None


@dataclass(frozen=True, slots=True)
class LayoutFlow:
    """Nodes in execution order, and the edges between them."""

    nodes: tuple[FlowNode, ...]
    edges: tuple[FlowEdge, ...]

    @property
    def transforms(self) -> Mapping[tuple[str, Task], None]:
        """Every transform once, with the tensor that it transforms."""
        return {(e.tensor, e.transform): None for e in self.edges if e.transform is not None}


def layout_flow(
    extracted: ExtractedNetwork, configs: Mapping[str, ConfigEntity], host: PluginHost
) -> LayoutFlow:
    """The flow under a config for each kernel, by its key; constants do not flow."""
    network, trace = extracted.network, _Trace(extracted)
    for name in network.fed:
        trace.add(FlowNode(name, "input", name, (trace.logical(name),)), name)
    for kernel in extracted.kernels:
        config = configs[kernel.key]
        layouts = host.layouts(kernel.task, config)
        operands = dict.fromkeys(zip(kernel.inputs, layouts.inputs, strict=True))
        wanted = [pair for pair in operands if pair[0] not in network.constants]
        shown = dict.fromkeys((*layouts.outputs, *(layout for _, layout in wanted[:1])))
        precision = host.strategy(config.strategy).precision
        node = FlowNode(kernel.key, "kernel", kernel.name, tuple(shown), precision)
        trace.add(node, kernel.output, wanted)
    for name in network.made:
        layout = trace.logical(name)
        trace.add(FlowNode(name, "result", name, (layout,)), "", [(name, layout)])
    return LayoutFlow(tuple(trace.nodes), tuple(trace.edges))


class _Trace:
    def __init__(self, extracted: ExtractedNetwork) -> None:
        self.nodes: list[FlowNode] = []
        self.edges: list[FlowEdge] = []
        self._extracted = extracted
        self._makers: dict[str, int] = {}

    def add(self, node: FlowNode, tensor: str, wanted: Sequence[tuple[str, str]] = ()) -> None:
        """A node that makes a tensor of others in the layouts wanted."""
        for operand, _ in wanted:
            if operand not in self._makers:
                self._add_view(operand)
        edges = [self._edge(operand, layout) for operand, layout in wanted]
        self._makers[tensor] = len(self.nodes)
        self.nodes.append(node)
        self.edges += edges

    def logical(self, tensor: str) -> str:
        return logical_layout(self._extracted.network.specs[tensor])

    def _add_view(self, tensor: str) -> None:
        base = self._extracted.views[tensor]
        if base not in self._makers:
            self._add_view(base)
        (made, *_) = self.nodes[self._makers[base]].layouts
        layout, read = self._extracted.seen_as(tensor, made)
        node = FlowNode(tensor, "view", tensor, (layout,))
        self.add(node, tensor, [(base, read)])

    def _edge(self, tensor: str, wanted: str) -> FlowEdge:
        maker = self._makers[tensor]
        spec = self._extracted.network.specs[tensor]
        (made, *_) = self.nodes[maker].layouts
        same = canonical_layout(spec, made) == canonical_layout(spec, wanted)
        target = self._extracted.target
        transform = None if same else transform_task(spec, made, wanted, target)
        return FlowEdge(tensor, maker, len(self.nodes), transform)
