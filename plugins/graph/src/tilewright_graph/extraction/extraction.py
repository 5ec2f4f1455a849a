"""From a network to the tasks worth tuning, and back to which kernel computes what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from tilewright.canonical import content_key
from tilewright.terminal_text import brief
from tilewright.vocabulary.config import Layouts
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.task_set import TaskSet, WeightedTask
from tilewright.vocabulary.workload import EpilogueOp, TensorSpec, Workload
from tilewright_graph.extraction.aliasing import Aliases, aliased, parts_of
from tilewright_graph.extraction.fusion import Group, fuse
from tilewright_graph.extraction.kernel_node import KernelNode
from tilewright_graph.extraction.shuffles import channel_shuffles
from tilewright_graph.extraction.transforms import logical_layout, view_layout
from tilewright_graph.network.network import Network
from tilewright_tensor.operators.operators import Operators


@dataclass(frozen=True)
class ExtractedNetwork:
    """A network as kernels in execution order.

    views       tensor to the inner tensor whose bytes it is, under another shape, both in logical
                order, or with its channels in another order
    shuffles    of those in another order: how many groups of channels take turns
    operators   the definitions of its operators
    """

    network: Network
    target: Target
    kernels: tuple[KernelNode, ...]
    views: Mapping[str, str]
    shuffles: Mapping[str, int]
    operators: Operators = field(repr=False, compare=False)

    @property
    def name(self) -> str:
        return self.network.name

    def __repr__(self) -> str:
        kernels = f"{len(self.kernels)} kernels for {self.target}"
        return f"<ExtractedNetwork {brief(self.name)}: {kernels}>"

    @cached_property
    def aliased(self) -> frozenset[str]:
        """Keys of the concats, slices and transposes that need not copy, where layouts permit."""
        return aliased(self.network, self.kernels, self.root, self.operators)

    @cached_property
    def searched(self) -> tuple[KernelNode, ...]:
        """The kernels whose tasks are tuned: all but the slices that need not copy.

        Every step of a recurrent layer has another one.
        """
        return tuple(kernel for kernel in self.kernels if not self._is_free_slice(kernel))

    def root(self, tensor: str) -> str:
        """The tensor whose bytes this one is: itself unless it is a view."""
        while tensor in self.views:
            tensor = self.views[tensor]
        return tensor

    def seen_as(self, view: str, made: str) -> tuple[str, str]:
        """How a view lies where what it views is made in a layout, and the layout that it views.

        That is the layout made, or the logical one, where it is brought into that first.
        """
        base, spec = (self.network.specs[name] for name in (self.views[view], view))
        groups = self.shuffles.get(view, 1)
        for below in (made, logical_layout(base)):
            found = view_layout(base, below, spec, groups)
            if found is not None:
                return found, below
        raise AssertionError("a tensor in logical order has views")

    def parts_of(self, kernel: KernelNode, layouts: Layouts) -> Aliases | None:
        """What lies in what where a kernel of these layouts is no call, None where it must copy."""
        if kernel.key not in self.aliased:
            return None
        return parts_of(kernel, layouts, self.network.specs, self.operators)

    def task_set(self) -> TaskSet:
        """The distinct tasks in order of first occurrence, weighted by how often they occur.

        Of the kernels that are `searched` for.
        """
        names = _task_names(kernel.task for kernel in self.searched)
        return TaskSet.merged(
            WeightedTask(kernel.task, 1.0, names[kernel.task], {self.name: 1.0})
            for kernel in self.searched
        )

    def _is_free_slice(self, kernel: KernelNode) -> bool:
        slices = self.operators[kernel.task.workload.operator].slices
        return slices is not None and kernel.key in self.aliased


def extract(network: Network, target: Target, operators: Operators) -> ExtractedNetwork:
    """The network as kernels of a target; equal layers give equal tasks, in any network."""
    shuffles = {one.result: one for one in channel_shuffles(network, operators)}
    inside = {tensor for one in shuffles.values() for tensor in one.inside}
    groups = [group for group in fuse(network, operators) if group.output not in inside]
    views = {
        group.output: group.anchor.inputs[0]
        for group in groups
        if operators[group.anchor.operator].view and _is_inner(group, network)
    }
    views |= {one.result: one.data for one in shuffles.values()}
    keys = {name: f"input {index}" for index, name in enumerate(network.inputs)}
    ranks: Counter[tuple[str, ...]] = Counter()
    kernels = []
    for group in groups:
        if group.output in views:
            turns = [shuffles[group.output].groups] if group.output in shuffles else []
            keys[group.output] = content_key(["view", *turns, keys[views[group.output]]])
            continue
        workload, inputs = workload_of(group, network, operators)
        task = Task(operators.defined(workload), target)
        identity = (task.key, *(keys.get(name, "constant") for name in inputs))
        key = content_key([*identity, ranks[identity]])
        ranks[identity] += 1
        keys[group.output] = key
        kernels.append(KernelNode(group.anchor.name, task, inputs, group.output, key))
    turns_of = {name: one.groups for name, one in shuffles.items()}
    return ExtractedNetwork(network, target, tuple(kernels), views, turns_of, operators)


def workload_of(
    group: Group, network: Network, operators: Operators
) -> tuple[Workload, tuple[str, ...]]:
    """A group's workload, and the tensors that are its inputs.

    The running value is always the first argument of a commutative operator: `x + y` and `y + x`
    are one workload.
    """
    inputs = list(group.anchor.inputs)
    epilogue = []
    running = group.anchor.output
    for node in group.nodes[1:]:
        place = node.inputs.index(running)
        others = node.inputs[:place] + node.inputs[place + 1 :]
        position = 0 if operators[node.operator].commutative else place
        operands = tuple(range(len(inputs), len(inputs) + len(others)))
        inputs += others
        epilogue.append(EpilogueOp(node.operator, node.attributes, operands, position))
        running = node.output
    specs = tuple(_role(network, name) for name in inputs)
    anchor = group.anchor
    return Workload(anchor.operator, specs, anchor.attributes, tuple(epilogue)), tuple(inputs)


def _role(network: Network, name: str) -> TensorSpec:
    spec = network.specs[name]
    return replace(spec, role="constant" if name in network.constants else "activation")


def _is_inner(group: Group, network: Network) -> bool:
    """Whether it is between two inner tensors, where a reshape is a view; elsewhere it copies."""
    before, after = group.anchor.inputs[0], group.output
    return before in network.producers and not {before, after}.intersection(network.results)


def _task_names(tasks: Iterable[Task]) -> Mapping[Task, str]:
    """Readable, distinct and stable names: `conv2d_64x56x56_64x64x3x3+add+relu`."""
    names: dict[Task, str] = {}
    taken: Counter[str] = Counter()
    for task in tasks:
        if task in names:
            continue
        name = readable_name(task.workload)
        taken[name] += 1
        names[task] = name if taken[name] == 1 else f"{name}#{taken[name]}"
    return names


def readable_name(workload: Workload) -> str:
    """Operator, layouts of a transform, shapes, strides other than 1, and what is fused."""
    attributes, shapes = workload.attributes, []
    for spec in workload.anchor.inputs:
        shape = (
            spec.shape[1:] if spec.role == "activation" and spec.shape[:1] == (1,) else spec.shape
        )
        shapes.append("x".join(map(str, shape)))
    strides = {str(n) for n in attributes.get("strides", ())} - {"1"}
    layouts = (str(attributes[side]) for side in ("src", "dst") if side in attributes)
    parts = [workload.operator, *layouts, *shapes, *(f"s{n}" for n in sorted(strides))]
    return "+".join(["_".join(parts), *(op.operator for op in workload.epilogue)])
