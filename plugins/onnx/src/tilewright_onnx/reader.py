"""Frontend `onnx`: a model file, or a model of the onnx wheel, as a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from tilewright.errors import UsageError
from tilewright.options import NoOptions
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.network import Network
from tilewright_onnx.model.input_shapes import UNNAMED, dimensions_of, input_shapes
from tilewright_onnx.model.model_check import checked_model
from tilewright_onnx.model.model_file import is_light, is_model, load_model
from tilewright_onnx.model.random_weights import with_random_weights
from tilewright_onnx.model.tensors import array_of
from tilewright_onnx.nodes.node_reading import NodeReading
from tilewright_onnx.onnx_reader import OnnxReader


class OnnxFrontend:
    """Reads ONNX. A network's source is the serialised model, with its weights as used."""

    def __init__(self, _options: NoOptions, host: Any) -> None:
        self._host = host

    def recognises_model(self, model: object) -> bool:
        """A ModelProto, or the bytes of one."""
        return is_model(model)

    def named_dimensions(self, model: Any) -> dict[str, list[int | str] | None]:
        """The shapes of the inputs; see `NamesDimensions`."""
        _, proto = load_model(model)
        weights = {tensor.name for tensor in proto.graph.initializer}
        told = {
            value.name: dimensions_of(value)
            for value in proto.graph.input
            if value.name not in weights
        }
        return {
            name: None if dims is None else [-1 if dim == UNNAMED else dim for dim in dims]
            for name, dims in told.items()
        }

    def read(
        self, model: Any, shapes: Mapping[str, Sequence[int]], weights_seed: int | None
    ) -> Network:
        """The network of a path, of a ModelProto, or of its bytes.

        Or of `onnx-light:NAME`, whose weights are always replaced.

        `shapes` gives sizes to inputs with dynamic dimensions. Raises UsageError for a model that
        cannot be read, an operator without a reading function, and a dynamic dimension without a
        size.
        """
        name, proto = load_model(model)
        seed = 0 if is_light(model) and weights_seed is None else weights_seed
        readers = self._host.components("onnx_reader")
        return read_model(proto, NetworkBuilder.of(name, self._host), shapes, seed, readers)


def read_model(
    proto: Any,
    builder: NetworkBuilder,
    shapes: Mapping[str, Sequence[int]],
    weights_seed: int | None = None,
    readers: Mapping[str, OnnxReader] = MappingProxyType({}),
) -> Network:
    """The network of a ModelProto, made with an empty builder; a seed replaces the weights.

    `readers` are plugins' own, by `DOMAIN.OPERATOR`.
    The input of a softmax that makes an output stays observed, and so does what an operator reads
    that makes as many rows as values decide. Raises UsageError for a model that is none, and names
    all nodes that cannot be read.
    """
    name = builder.name
    given, (proto, opsets) = proto, checked_model(proto, name)
    if weights_seed is not None:
        given = proto = with_random_weights(proto, weights_seed)
    source = given.SerializeToString()
    graph = proto.graph
    known = {tensor.name: array_of(tensor, name) for tensor in graph.initializer}
    builder.reserve([*known, *(output for node in graph.node for output in node.output)])
    inputs = [value for value in graph.input if value.name not in known]
    for tensor, (shape, dtype) in input_shapes(name, inputs, shapes).items():
        builder.input(tensor, shape, dtype)
        if 0 in shape:
            known[tensor] = np.zeros(shape, dtype)
    outputs = [value.name for value in graph.output]
    reading = NodeReading(builder, known, opsets, outputs, len(source), readers=readers)
    reading.read_all(graph.node)
    for output in outputs:
        if output not in builder.specs:
            if output not in known:
                raise UsageError(f"no node makes the output {output!r}", where=name)
            builder.apply("identity", [builder.constant(known[output])], output=output)
    observed = [
        node.input[0]
        for node in graph.node
        if node.op_type == "Softmax"
        and node.output[0] in outputs
        and builder.producer(node.input[0])
    ]
    made = {output for node in graph.node for output in node.output}
    for producer in map(builder.producer, outputs):
        if producer and builder.operators[producer.operator].counted:
            observed += [name for name in producer.inputs if name in made]
    return builder.network(outputs, observed, source)
