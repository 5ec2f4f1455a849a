"""A network as a value: nodes in execution order over named tensors."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from types import MappingProxyType
from typing import Any

from tilewright.canonical import freeze
from tilewright.terminal_text import brief
from tilewright.vocabulary.workload import TensorSpec


@dataclass(frozen=True)
class Node:
    """One operator applied to named tensors, giving one; `operator` names its definition."""

    name: str
    operator: str
    inputs: tuple[str, ...]
    output: str
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", freeze(self.attributes))


@dataclass(frozen=True)
class Network:
    """Nodes in topological order; every tensor is an input, a constant or the output of one node.

    What has no elements is no node's: it is a constant, or an input that no node reads.

    specs      shape, dtype and role of every tensor, in logical axis order
    constants  numpy arrays by tensor name
    inputs     what a caller gives, in order; then masks
    outputs    what a caller gets, in order; an input may be one, too
    observed   inner tensors that stay readable in the compiled network, such as the logits before a
               softmax: passes and fusion treat them like outputs, so that what is verified is the
               very artefact that is benchmarked
    source     where the network came from (for ONNX the model's bytes), opaque; None for one made
               in Python
    masks      inputs, one true or false a row, that say which rows of a dimension are given: all of
               them, unless it runs on fewer
    origin     what the user called the model it was read from, such as a path; may be empty
    """

    name: str
    nodes: tuple[Node, ...]
    specs: Mapping[str, TensorSpec]
    constants: Mapping[str, Any]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    observed: tuple[str, ...] = ()
    source: Any = field(default=None, repr=False, compare=False)
    masks: tuple[str, ...] = ()
    origin: str = field(default="", repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "specs", MappingProxyType(dict(self.specs)))
        object.__setattr__(self, "constants", MappingProxyType(dict(self.constants)))

    def __repr__(self) -> str:
        inputs = {name: self.specs[name] for name in self.asked}
        outputs = {name: self.specs[name] for name in self.outputs}
        told = signature_text(self.name, inputs, outputs)
        return f"<Network {told}; {len(self.nodes)} nodes>"

    @property
    def original(self) -> Any:
        """What an oracle runs: the source, or the network itself where it has none."""
        return self if self.source is None else self.source

    @cached_property
    def content_hash(self) -> str:
        """A hash of what it computes: its nodes, the shapes of its tensors, its constants."""
        found = hashlib.sha256(str(replace(self, name="")).encode())
        for name, spec in sorted(self.specs.items()):
            found.update(f"{name} {spec.to_json()}".encode())
        for name, array in sorted(self.constants.items()):
            found.update(f"{name} {array.dtype}{array.shape}".encode())
            found.update(array.tobytes())
        return found.hexdigest()[:16]

    @property
    def results(self) -> tuple[str, ...]:
        """Outputs, then the observed tensors: what must be in memory when the network ends."""
        return self.outputs + tuple(name for name in self.observed if name not in self.outputs)

    @property
    def asked(self) -> tuple[str, ...]:
        """Inputs that a caller gives."""
        return tuple(name for name in self.inputs if name not in self.masks)

    @property
    def fed(self) -> tuple[str, ...]:
        """Inputs that have elements."""
        return tuple(name for name in self.inputs if 0 not in self.specs[name].shape)

    @property
    def made(self) -> tuple[str, ...]:
        """Results of nodes; the others are inputs, or have no elements."""
        return tuple(name for name in self.results if name in self.producers)

    @cached_property
    def producers(self) -> Mapping[str, Node]:
        """The node that makes each tensor; inputs and constants have none."""
        return {node.output: node for node in self.nodes}

    @cached_property
    def readers(self) -> Mapping[str, int]:
        """How often each tensor is read: once an operand, and once more where it is a result."""
        counts = dict.fromkeys(self.specs, 0)
        for node in self.nodes:
            for name in node.inputs:
                counts[name] += 1
        for name in self.results:
            counts[name] += 1
        return counts

    def __str__(self) -> str:
        """One line a node: `y = conv2d(x, w) {strides: 2}  # 1x64x112x112`."""
        lines = [f"network {self.name}({', '.join(self.inputs)}) -> {', '.join(self.results)}"]
        for node in self.nodes:
            shape = "x".join(map(str, self.specs[node.output].shape))
            attributes = ", ".join(f"{k}: {v}" for k, v in node.attributes.items())
            braces = f" {{{attributes}}}" if attributes else ""
            lines.append(
                f"  {node.output} = {node.operator}({', '.join(node.inputs)}){braces}  # {shape}"
            )
        return "\n".join(lines)


_SHOWN = 3


def signature_text(
    name: str, inputs: Mapping[str, TensorSpec], outputs: Mapping[str, TensorSpec]
) -> str:
    """As in `resnet50: data float32[1, 3, 224, 224] -> prob float32[1, 1000]`."""
    return f"{brief(name)}: {tensors_text(inputs)} -> {tensors_text(outputs)}"


def tensors_text(specs: Mapping[str, TensorSpec]) -> str:
    """The first few tensors, and how many more there are."""
    shown = [
        f"{brief(name, 30)} {brief(str(spec))}" for name, spec in islice(specs.items(), _SHOWN)
    ]
    more = len(specs) - _SHOWN
    return ", ".join([*shown, *([f"{more} more"] if more > 0 else [])]) or "nothing"
