"""Kernels with their configs as calls over placed tensors: transforms put in, constants packed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.config import ConfigEntity, Layouts
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.workload import TensorSpec
from tilewright_graph.extraction.extraction import ExtractedNetwork
from tilewright_graph.extraction.kernel_node import KernelNode
from tilewright_graph.extraction.transforms import (
    TRANSFORM,
    logical_layout,
    same_bytes,
    transform_task,
)
from tilewright_tensor.expressions.dtype import ITEM_BYTES
from tilewright_tensor.ir.network_program import BufferKind
from tilewright_tensor.layouts.layout import Layout

Choose = Callable[[Task, str], ConfigEntity]
"""The config for a task and the key of its node (empty for a transform)."""


@dataclass(frozen=True, slots=True)
class PlacedTensor:
    """A tensor in one layout, with its physical shape.

    within   the placed tensor of which it is a part, and where that begins, in bytes
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    kind: BufferKind
    within: tuple[str, int] | None = None

    @property
    def bytes(self) -> int:
        return prod(self.shape) * ITEM_BYTES[self.dtype]


@dataclass(frozen=True, slots=True)
class Call:
    """A kernel launch before lowering; it reads and writes placed tensors, by name and in order.

    makes   the tensor, and the layout that it is written in
    """

    node: str
    task: Task
    config: ConfigEntity
    reads: tuple[str, ...]
    write: str
    makes: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Assembly:
    """Calls in execution order, the tensors they touch, and what the constants among them hold."""

    calls: tuple[Call, ...]
    tensors: Mapping[str, PlacedTensor]
    constants: Mapping[str, Any]

    @property
    def transforms(self) -> int:
        """How many of the calls are layout transforms."""
        return sum(call.task.workload.operator == TRANSFORM for call in self.calls)


def assemble(extracted: ExtractedNetwork, choose: Choose, host: PluginHost) -> Assembly:
    """Every kernel under its config, with a transform wherever a reader wants another layout.

    A tensor is transformed into a layout once, however many read it so. Where two layouts are the
    same bytes, and for views, readers get the very tensor, whose physical shape may then differ
    from the one they name. Concats, slices and transposes that need not copy are no calls.
    """
    return _Assembler(extracted, choose, host).run()


class _Assembler:
    def __init__(self, extracted: ExtractedNetwork, choose: Choose, host: PluginHost) -> None:
        self._extracted = extracted
        self._network = extracted.network
        self._choose = choose
        self._host = host
        self._outer = {*self._network.inputs, *self._network.results}
        self._calls: list[Call] = []
        self._tensors: dict[str, PlacedTensor] = {}
        self._constants: dict[str, Any] = {}
        self._layouts: dict[tuple[Task, ConfigEntity], Layouts] = {}
        # By tensor: (layout, placed tensor), as made first.
        self._versions: dict[str, list[tuple[str, str]]] = {}

    def run(self) -> Assembly:
        for name in self._network.fed:
            layout = logical_layout(self._network.specs[name])
            self._place(name, layout, name, "input")
        for kernel in self._extracted.kernels:
            self._add(kernel)
        return Assembly(tuple(self._calls), self._tensors, self._constants)

    def _add(self, kernel: KernelNode) -> None:
        config = self._choose(kernel.task, kernel.key)
        layouts = self._layouts_of(kernel.task, config)
        wanted = zip(kernel.inputs, layouts.inputs, strict=True)
        reads = tuple(self._read(name, layout) for name, layout in wanted)
        output, layout = kernel.output, layouts.outputs[0]
        spec = self._network.specs[output]
        logical = logical_layout(spec)
        leaves = output in self._network.results
        if leaves and same_bytes(spec, layout, logical):
            write = self._place(output, logical, output, "output")
        else:
            write = self._place(output, layout, self._inner(output, layout), "intermediate")
        parts = self._extracted.parts_of(kernel, layouts)
        if parts is not None:
            placed = dict(zip((*kernel.inputs, output), (*reads, write), strict=True))
            for part, place in parts.places.items():
                inside = replace(self._tensors[placed[part]], within=(placed[parts.whole], place))
                self._tensors[placed[part]] = inside
            return
        self._calls.append(Call(kernel.name, kernel.task, config, reads, write, (output, layout)))
        if leaves and write != output:
            result = self._place(output, logical, output, "output")
            self._transform(output, layout, write, logical, result)

    def _layouts_of(self, task: Task, config: ConfigEntity) -> Layouts:
        which = (task, config)
        if which not in self._layouts:
            self._layouts[which] = self._host.layouts(task, config)
        return self._layouts[which]

    def _read(self, name: str, layout: str) -> str:
        """The placed tensor that holds a tensor in a layout."""
        if name in self._network.constants:
            return self._pack(name, layout)
        spec = self._network.specs[name]
        for known, placed in self._versions_of(name):
            if same_bytes(spec, known, layout):
                return placed
        source, placed = self._versions_of(name)[0]
        wanted = self._place(name, layout, self._inner(name, layout), "intermediate")
        self._transform(name, source, placed, layout, wanted)
        return wanted

    def _versions_of(self, name: str) -> Sequence[tuple[str, str]]:
        """By now; a view is what its tensor was made as, where it can be one of that."""
        if name in self._extracted.views and name not in self._versions:
            base = self._extracted.views[name]
            source, placed = self._versions_of(base)[0]
            layout, below = self._extracted.seen_as(name, source)
            if below != source:
                placed = self._read(base, below)
            self._versions[name] = [(layout, placed)]
        return self._versions[name]

    def _transform(self, name: str, source: str, read: str, layout: str, write: str) -> None:
        spec = self._network.specs[name]
        task = transform_task(spec, source, layout, self._extracted.target)
        node = f"{name}:{source}->{layout}"
        config = self._choose(task, "")
        self._calls.append(Call(node, task, config, (read,), write, (name, layout)))

    def _pack(self, name: str, layout: str) -> str:
        placed = self._inner(name, layout)
        if placed not in self._tensors:
            array = Layout.parse(layout).pack(self._network.constants[name])
            self._constants[placed] = array
            self._tensors[placed] = PlacedTensor(placed, array.shape, str(array.dtype), "constant")
        return placed

    def _inner(self, name: str, layout: str) -> str:
        """The name of an inner tensor in a layout, which no input and no result has."""
        placed = f"{name}@{layout}"
        while placed in self._outer:
            placed += "@"
        return placed

    def _place(self, name: str, layout: str, placed: str, kind: BufferKind) -> str:
        spec: TensorSpec = self._network.specs[name]
        form = Layout.parse(layout)
        shape, dtype = form.physical_shape(spec.shape), form.storage(spec.dtype)
        self._tensors[placed] = PlacedTensor(placed, shape, dtype, kind)
        self._versions.setdefault(name, []).append((layout, placed))
        return placed
