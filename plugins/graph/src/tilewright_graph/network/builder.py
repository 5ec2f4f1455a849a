"""Networks built node by node, with shapes inferred on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from tilewright.errors import UsageError, did_you_mean
from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.workload import TensorSpec
from tilewright_graph.network.network import Network, Node
from tilewright_graph.network.network_bytes import check_network_bytes
from tilewright_tensor.expressions.dtype import DTYPES, ITEM_BYTES
from tilewright_tensor.operators.operators import Operators, builtin_operators
from tilewright_tensor.operators.trials.checked_output import checked_output


class NetworkBuilder:
    """Collects nodes; every operator definition is a method. Tensors are their names.

    >>> b = NetworkBuilder("net")
    >>> x = b.input("x", (1, 3, 224, 224))
    >>> y = b.relu(b.conv2d(x, weight, strides=2, padding=3))    # weight: a numpy array or a tensor
    >>> network = b.network([y])

    Errors in shapes or attributes are `UsageError`s that name the node.

    operators   the definitions that nodes may be of
    """

    def __init__(self, name: str, operators: Operators | None = None) -> None:
        self.name = name
        self.specs: dict[str, TensorSpec] = {}
        self.constants: dict[str, Any] = {}
        self.operators = operators or builtin_operators()
        self._reserved: set[str] = set()
        self._nodes: list[Node] = []
        self._producers: dict[str, Node] = {}
        self._inputs: list[str] = []
        self._masks: list[str] = []
        self._node_names: set[str] = set()
        # by name, the number to go on with: names are only ever added
        self._tensor_numbers: dict[str, int] = {}
        self._node_numbers: dict[str, int] = {}

    @classmethod
    def before(cls, network: Network, operators: Operators) -> NetworkBuilder:
        """A builder with the inputs and constants of a network, and none of its nodes yet.

        No other tensor gets one of the network's names unless it asks for it.
        """
        builder = cls(network.name, operators)
        builder.reserve(network.specs)
        builder._inputs += network.inputs
        builder._masks += network.masks
        builder.constants |= network.constants
        for name in (*network.inputs, *network.constants):
            builder.specs[name] = network.specs[name]
        return builder

    @classmethod
    def of(cls, name: str, host: PluginHost) -> NetworkBuilder:
        """A builder with the operators of every installed plugin."""
        return cls(name, Operators.of(host))

    def __getattr__(self, operator: str) -> Callable[..., str]:
        if operator.startswith("_") or operator not in self.operators:
            raise AttributeError(
                f"operator {operator!r}; {did_you_mean(operator, list(self.operators))}"
            )
        return partial(self._call, operator)

    def reserve(self, tensors: Iterable[str]) -> None:
        """Names to come: given to no tensor that does not ask for one of them."""
        self._reserved.update(tensors)

    def input(self, name: str, shape: Sequence[int], dtype: str = "float32") -> str:
        """A tensor that the caller of the network gives."""
        try:
            spec = TensorSpec(tuple(shape), dtype)
        except UsageError as error:
            raise error.within(f"{self.name}: input {name!r}") from None
        self._inputs.append(self._declare(name, spec))
        return name

    def mask(self, name: str, rows: int) -> str:
        """An input that says which of so many rows are given; see `Network.masks`."""
        self._masks.append(self.input(name, (rows,), "bool"))
        return name

    def constant(self, array: Any, name: str = "constant") -> str:
        """A constant tensor; the name gets a number where it is taken."""
        return self.declare_constant(self.fresh(name), array)

    def declare_constant(self, name: str, array: Any) -> str:
        """A constant tensor, under exactly this name."""
        array = np.asarray(array)
        self._declare(name, TensorSpec(array.shape, str(array.dtype), "constant"))
        self.constants[name] = array
        return name

    def apply(
        self,
        operator: str,
        inputs: Sequence[str],
        attributes: Mapping[str, Any] | None = None,
        *,
        name: str = "",
        output: str = "",
    ) -> str:
        """The output of one more node; names that are not given follow the operator's.

        An output without elements needs no node: it is a constant.
        """
        where = f"{self.name}: node {name!r}" if name else self.name
        definition = self.operators.find(operator, where)
        specs = [self.specs[tensor] for tensor in inputs]
        rank = len(specs[0].shape) if specs else None
        complete = definition.normalise(attributes or {}, where, rank)
        inferred = checked_output(definition, specs, complete, where, empty=True)
        operator = definition.name
        if 0 in inferred.shape:
            nothing = np.zeros(inferred.shape, inferred.dtype)
            return self.declare_constant(output or self.fresh(name or operator), nothing)
        for tensor, spec in zip(inputs, specs, strict=True):
            if 0 in spec.shape:
                problem = f"{operator} of {tensor!r}, which has no elements: {spec}"
                raise UsageError(problem, where=where)
        name = _free(name or operator, self._node_names.__contains__, self._node_numbers)
        output = self._declare(output or self.fresh(name), inferred)
        self._append(Node(name, operator, tuple(inputs), output, complete))
        return output

    def adopt(self, node: Node, network: Network) -> None:
        """A node of another network once more; its operands may have got other shapes."""
        same = all(self.specs[one] == network.specs.get(one) for one in node.inputs)
        if same and node.name not in self._node_names:
            self._declare(node.output, network.specs[node.output])
            self._append(node)
        else:
            self.apply(
                node.operator, node.inputs, node.attributes, name=node.name, output=node.output
            )

    def _append(self, node: Node) -> None:
        self._node_names.add(node.name)
        self._nodes.append(node)
        self._producers[node.output] = node

    def fresh(self, name: str) -> str:
        """The name, with a number appended where a tensor has it already."""
        is_taken = lambda one: one in self.specs or one in self._reserved  # noqa: E731
        return _free(name, is_taken, self._tensor_numbers)

    def producer(self, tensor: str) -> Node | None:
        """The node that makes a tensor; None for inputs and constants."""
        return self._producers.get(tensor)

    def network(
        self, outputs: Iterable[str], observed: Iterable[str] = (), source: Any = None
    ) -> Network:
        """Everything so far as a value.

        Raises UsageError for an output that is no node's and no input, but has elements.
        """
        outputs, observed = tuple(outputs), tuple(dict.fromkeys(observed))
        for tensor in (*outputs, *observed):
            if tensor not in self.specs:
                raise UsageError(f"no tensor named {tensor!r}", where=self.name)
            is_input = tensor in self._inputs and tensor in outputs
            is_empty = 0 in self.specs[tensor].shape
            if tensor not in self._producers and not is_input and not is_empty:
                raise UsageError(
                    f"no node makes the output {tensor!r}",
                    where=self.name,
                    remedy="put an `identity` before it",
                )
        held = {*self._inputs, *outputs, *observed, *self.constants}
        at_once = max((self._bytes(*node.inputs, node.output) for node in self._nodes), default=0)
        check_network_bytes(max(self._bytes(*held), at_once), self.name)
        for tensor, count in Counter(outputs).items():
            if count > 1:
                raise UsageError(f"the output {tensor!r} is named {count} times", where=self.name)
        return Network(
            self.name,
            tuple(self._nodes),
            self.specs,
            self.constants,
            tuple(self._inputs),
            outputs,
            observed,
            source,
            tuple(self._masks),
        )

    def _call(self, operator: str, *operands: Any, name: str = "", **attributes: Any) -> str:
        inputs = [
            operand
            if isinstance(operand, str)
            else self.constant(operand, f"{name or operator}_constant")
            for operand in operands
        ]
        return self.apply(operator, inputs, attributes, name=name)

    def _bytes(self, *tensors: str) -> int:
        specs = [self.specs[name] for name in tensors]
        return sum(prod(spec.shape) * ITEM_BYTES[spec.dtype] for spec in specs)

    def _declare(self, name: str, spec: TensorSpec) -> str:
        if name in self.specs:
            raise UsageError(f"two tensors are named {name!r}", where=self.name)
        if spec.dtype not in DTYPES:
            raise UsageError(
                f"tensor {name!r} is {spec.dtype}, expected one of {', '.join(DTYPES)}",
                where=self.name,
            )
        self.specs[name] = spec
        return name


def _free(name: str, is_taken: Callable[[str], bool], numbers: dict[str, int]) -> str:
    candidate, number = name, numbers.get(name, 1)
    while is_taken(candidate):
        number += 1
        candidate = f"{name}_{number}"
    numbers[name] = max(1, number - 1)
    return candidate
