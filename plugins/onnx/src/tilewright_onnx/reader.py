"""Frontend `onnx`: a model file, or a model of the onnx wheel, as a network."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.errors import UsageError
from tilewright.options import NoOptions
from tilewright_graph.builder import NetworkBuilder
from tilewright_graph.network import Network
from tilewright_onnx.definition import definition_of
from tilewright_onnx.model_file import is_light, is_model, load_model
from tilewright_onnx.node_site import NodeSite
from tilewright_onnx.operators import READERS
from tilewright_onnx.random_weights import with_random_weights

_ALIASED = ("", "ai.onnx")
"""Both name the default operator set."""

_RUNTIMES_OWN = "com.microsoft"
"""Domains of what ONNX Runtime puts into models that it optimises begin so."""

_OLDEST = 7
"""The opset since which operands are broadcast from the right; ONNX Runtime reads no older one."""

_RANDOM = (
    "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
    "RandomUniformLike",
)  # fmt: skip


_FLATTENED, _UNFLATTENED = ("Softmax", "LogSoftmax", "Hardmax"), 13
"""Before this opset they took all axes from one on as one, which ONNX's reference does not."""


class OnnxFrontend:
    """Reads ONNX. A network's source is the serialised model, with its weights as used."""

    def __init__(self, _options: NoOptions, host: Any) -> None:
        self._host = host

    def recognises(self, model: object) -> bool:
        """A ModelProto, or the bytes of one."""
        return is_model(model)

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
        if weights_seed is not None or is_light(model):
            proto = with_random_weights(proto, weights_seed or 0)
        return read_model(proto, NetworkBuilder.of(name, self._host), shapes)


def read_model(proto: Any, builder: NetworkBuilder, shapes: Mapping[str, Sequence[int]]) -> Network:
    """The network of a ModelProto, made with an empty builder.

    The input of a softmax that makes an output stays observed.
    """
    from onnx import numpy_helper
    from onnx.inliner import inline_local_functions

    source = proto.SerializeToString()
    if proto.functions:
        proto = inline_local_functions(proto)
    graph = proto.graph
    name = builder.name
    opset = max((o.version for o in proto.opset_import if o.domain in _ALIASED), default=_OLDEST)
    if opset < _OLDEST:
        raise UsageError(
            f"the model is of opset {opset}; expected {_OLDEST} or later",
            where=name,
            remedy=f"onnx.version_converter.convert_version(model, {_OLDEST}) raises it",
        )
    known = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    builder.reserve([*known, *(output for node in graph.node for output in node.output)])
    inputs = [value for value in graph.input if value.name not in known]
    for value in inputs:
        builder.input(value.name, *_input_spec(name, value, inputs, shapes))
    outputs = [value.name for value in graph.output]
    used = set(outputs).union(*(node.input for node in graph.node))
    for index, node in enumerate(graph.node):
        site = NodeSite(node, node.name or f"{node.op_type}_{index}", builder, known, opset)
        _read_node(node, site, builder, known)
        for place, output in enumerate(node.output):
            if output and output in used and output not in builder.specs and output not in known:
                raise site.error(f"output {place} ({output!r}) of {node.op_type} is not supported")
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
    return builder.network(outputs, observed, source)


def _read_node(node: Any, site: NodeSite, builder: NetworkBuilder, known: dict[str, Any]) -> None:
    """Emit a node, or evaluate it where nothing it reads depends on the inputs."""
    if node.op_type == "Shape" and node.input[0] in builder.specs:
        known[node.output[0]] = _shape_value(node, builder.specs[node.input[0]].shape)
        return
    if node.domain in _ALIASED and node.op_type in _RANDOM:
        raise site.error(f"{node.op_type} draws other values in every run", "make them an input")
    evaluated = node.op_type not in _FLATTENED or site.opset >= _UNFLATTENED
    if (
        evaluated
        and node.domain in _ALIASED
        and all(tensor in known for tensor in node.input if tensor)
    ):
        known.update(_evaluated(node, site, known))
        return
    if node.domain in _ALIASED and node.op_type in READERS:
        READERS[node.op_type](site)
        return
    parts, opset = definition_of(node, site, builder.specs, known)
    if not parts:
        operator = ".".join(filter(None, (node.domain, node.op_type)))
        remedy = f"readable: {', '.join(sorted(READERS))}"
        if node.domain.startswith(_RUNTIMES_OWN):
            remedy = "ONNX Runtime made it: give the model as it was, or optimised at level `basic`"
        raise site.error(f"no reader for the ONNX operator {operator!r}", remedy)
    for number, part in enumerate(parts):
        name = f"{site.name}/{part.op_type}_{number}"
        _read_node(part, NodeSite(part, name, builder, known, opset), builder, known)


def _shape_value(node: Any, shape: tuple[int, ...]) -> Any:
    import numpy as np

    limits = {attribute.name: attribute.i for attribute in node.attribute}
    return np.array(shape[limits.get("start", 0) : limits.get("end", len(shape))], np.int64)


def _evaluated(node: Any, site: NodeSite, known: Mapping[str, Any]) -> dict[str, Any]:
    """The node's outputs by ONNX's own reference."""
    from onnx import TensorProto, helper
    from onnx.reference import ReferenceEvaluator

    operands = {tensor: known[tensor] for tensor in node.input if tensor}
    values = [helper.make_tensor_value_info(t, TensorProto.UNDEFINED, None) for t in operands]
    results = [
        helper.make_tensor_value_info(t, TensorProto.UNDEFINED, None) for t in node.output if t
    ]
    graph = helper.make_graph([node], "constant", values, results)
    try:
        evaluator = ReferenceEvaluator(graph, opsets={"": site.opset})
        return dict(zip((r.name for r in results), evaluator.run(None, operands), strict=True))
    except Exception as error:
        raise site.error(f"cannot evaluate {node.op_type!r} on constants: {error}") from error


def _input_spec(
    name: str, value: Any, inputs: Sequence[Any], shapes: Mapping[str, Sequence[int]]
) -> tuple[tuple[int, ...], str]:
    """(shape, dtype) of one of the inputs, dynamic dimensions taken from what is given."""
    from onnx import helper

    given = shapes.get(value.name)
    if not value.type.HasField("tensor_type"):
        kind = value.type.WhichOneof("value")
        raise UsageError(f"input {value.name!r} is a {kind}; expected a tensor", where=name)
    tensor = value.type.tensor_type
    if given is None and not tensor.HasField("shape"):
        raise UsageError(
            f"input {value.name!r} has no shape",
            where=name,
            remedy=_shapes_remedy({value.name: [1, 3, 224, 224]}),
        )
    dims = _dimensions(value)
    dtype = str(helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    if given is not None and tensor.HasField("shape"):
        fits = len(given) == len(dims) and all(
            not _is_fixed(d) or d == g for d, g in zip(dims, given, strict=False)
        )
        if not fits:
            raise UsageError(
                f"shapes: input {value.name!r} is {dims}, got {list(given)}",
                where=name,
                remedy="give every dimension, fixed ones as they are",
            )
    if given is not None:
        return tuple(given), dtype
    for axis, dim in enumerate(dims):
        if not _is_fixed(dim):
            examples = {
                one.name: [n if _is_fixed(n) else 1 for n in _dimensions(one)]
                for one in inputs
                if one.name not in shapes and not all(map(_is_fixed, _dimensions(one)))
            }
            raise UsageError(
                f"input {value.name!r}: dimension {axis} ({dim}) is dynamic",
                where=name,
                remedy=_shapes_remedy(examples),
            )
    return tuple(map(int, dims)), dtype


def _dimensions(value: Any) -> list[int | str]:
    """What a model says of an input's shape; a dynamic dimension is a name, or not positive."""
    return [
        dim.dim_value if dim.HasField("dim_value") else dim.dim_param or "?"
        for dim in value.type.tensor_type.shape.dim
    ]


def _is_fixed(dimension: int | str) -> bool:
    return isinstance(dimension, int) and dimension > 0


def _shapes_remedy(examples: Mapping[str, Sequence[Any]]) -> str:
    shapes = json.dumps(examples)
    return (
        f"give it a value: --set 'import.shapes={shapes}'; in a file import: "
        f"{{shapes: {shapes}}}; in Python compile({{'model': ..., 'shapes': {shapes}}})"
    )
