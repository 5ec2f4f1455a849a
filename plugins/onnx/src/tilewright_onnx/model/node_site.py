"""One ONNX node while it is read: operands, attributes, and the way to emit what it becomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import UsageError

if TYPE_CHECKING:
    from tilewright.vocabulary.workload import TensorSpec
    from tilewright_graph.network.builder import NetworkBuilder
    from tilewright_onnx.model.reading_budget import ReadingBudget


class NodeSite:
    """What a reading function gets.

    known   values of tensors that do not depend on the network's inputs, as numpy arrays
    opsets  version of the operator set of each domain
    opset   that of the default one, which some meanings hang on
    model   name of the network
    copies  what is read in place of a constant that is an output of the model, by its name
    budget  what may be made while the model is read
    """

    def __init__(
        self,
        node: Any,
        name: str,
        builder: NetworkBuilder,
        known: dict[str, Any],
        opsets: Mapping[str, int],
        *,
        copies: dict[str, str],
        budget: ReadingBudget,
    ) -> None:
        self.name = name
        self.model = builder.name
        self.opsets = opsets
        self.opset = opsets[""]
        self.where = f"{builder.name}: node {name!r}"
        self.inputs: tuple[str, ...] = tuple(node.input)
        self.outputs: tuple[str, ...] = tuple(node.output)
        self._builder = builder
        self._known = known
        self._node = node
        self._copies = copies
        self._budget = budget

    @cached_property
    def attributes(self) -> Mapping[str, Any]:
        """The values of the attributes that the node has, texts decoded."""
        from onnx import helper

        values = {one.name: helper.get_attribute_value(one) for one in self._node.attribute}
        return {name: _decoded(value) for name, value in values.items()}

    def within(self, builder: NetworkBuilder, known: dict[str, Any]) -> NodeSite:
        """The same node in another network, with what is known there."""
        shared = builder, known, self.opsets
        return NodeSite(self._node, self.name, *shared, copies={}, budget=self._budget)

    def has(self, position: int) -> bool:
        """Whether an optional operand is given."""
        return position < len(self.inputs) and bool(self.inputs[position])

    def is_known(self, position: int) -> bool:
        """Whether an operand's value is known when the model is read."""
        return self.inputs[position] in self._known

    def tensor(self, position: int) -> str:
        """The network's tensor of an operand; a known value becomes a constant when first read."""
        name = self.inputs[position]
        if name not in self._builder.specs:
            if name not in self._known:
                raise self.error(f"reads {name!r}, which no node before it makes")
            if name in self._copies:  # an output, which a node has to make
                self._copies[name] = self._copies[name] or self._builder.constant(
                    self._known[name], name
                )
                return self._copies[name]
            self._builder.declare_constant(name, self._known[name])
        return name

    def spec(self, position: int) -> TensorSpec:
        """Shape and dtype of an operand."""
        return self._builder.specs[self.tensor(position)]

    def shape(self, tensor: str) -> tuple[int, ...]:
        """Shape of any tensor of the network."""
        return self._builder.specs[tensor].shape

    def dtype(self, tensor: str) -> str:
        """Dtype of any tensor of the network."""
        return self._builder.specs[tensor].dtype

    def value(self, position: int) -> Any:
        """An operand that must be known by now. Raises UsageError where it is computed."""
        name = self.inputs[position]
        if name not in self._known:
            raise self.error(f"operand {position} ({name!r}) is computed; expected a constant")
        return self._known[name]

    def know(self, output: str, value: Any) -> None:
        """Give one of the node's outputs a value that depends on no input."""
        self._known[output] = value

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute's value, or the default where the node does not have it."""
        return self.attributes.get(name, default)

    def constant(self, array: Any) -> str:
        """A constant of the network."""
        return self._builder.constant(array, f"{self.name}_constant")

    def expect_room(self, shape: Sequence[int], dtype: str) -> None:
        """Raise UsageError unless an array of the shape may be made while the model is read."""
        if not self._budget.take(shape, dtype):
            raise self.error(
                f"{self._node.op_type} needs a constant of shape {list(shape)}, which is too large",
                "give the model smaller inputs, or make its large constants inputs",
            )

    def scalar(self, value: float, other: str) -> str:
        """A constant of one element, of the rank and the dtype of another tensor.

        Raises UsageError for a number that the dtype does not have.
        """
        spec = self._builder.specs[other]
        with np.errstate(all="ignore"):
            made = np.full((1,) * len(spec.shape), value).astype(spec.dtype)
        if made.dtype.kind in "biu" and made.item() != value:
            raise self.error(
                f"{self._node.op_type} of {spec.dtype} computes with {value:g}, which is none",
                "cast what it reads to float32",
            )
        return self.constant(made)

    def emit(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """An inner node on the way to the result; returns its tensor."""
        return self._builder.apply(operator, inputs, attributes, name=f"{self.name}_{operator}")

    def finish(self, operator: str, *inputs: str, **attributes: Any) -> None:
        """The last node, whose output is the ONNX node's first output."""
        self.give(self.outputs[0], operator, *inputs, **attributes)

    def give(self, output: str, operator: str, *inputs: str, **attributes: Any) -> None:
        """A last node of several: its output is one of the ONNX node's."""
        self._builder.apply(operator, inputs, attributes, name=self.name, output=output)

    def at_rank(self, tensor: str, rank: int) -> str:
        """The tensor with axes of extent 1 put in front until it has the rank."""
        shape = self._builder.specs[tensor].shape
        return self.reshaped(tensor, (1,) * (rank - len(shape)) + shape)

    def at_one_rank(self) -> list[str]:
        """All operands, each at the rank of the one with most axes."""
        count = len(self.inputs)
        rank = max(len(self.spec(i).shape) for i in range(count))
        return [self.at_rank(self.tensor(i), rank) for i in range(count)]

    def reshaped(self, tensor: str, shape: tuple[int, ...]) -> str:
        """The tensor under another shape; a constant at once, an activation by a node."""
        if self._builder.specs[tensor].shape == shape:
            return tensor
        if tensor in self._builder.constants:
            return self.constant(self._builder.constants[tensor].reshape(shape))
        return self.emit("reshape", tensor, shape=list(shape))

    def error(self, problem: str, remedy: str = "") -> UsageError:
        """An error that names the node and the model."""
        return UsageError(problem, where=self.where, remedy=remedy)


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(one) for one in value]
    return value.decode(errors="replace") if isinstance(value, bytes) else value
