"""Folds nodes whose operands are all constants, within bounds.

By ONNX's own reference; where that is wrong, slow or cannot do it, by numpy or by what the node is
read as.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from tilewright.errors import UsageError
from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.evaluate import evaluate_node
from tilewright_onnx.model.node_check import DOMAINS_OF_ONNX, TensorType
from tilewright_onnx.model.node_site import NodeSite
from tilewright_onnx.model.tensors import NARROW, array_of
from tilewright_onnx.nodes.indexed_constants import BY_NUMPY
from tilewright_onnx.nodes.operators import READERS

_FLATTENED, _UNFLATTENED = ("Softmax", "LogSoftmax", "Hardmax"), 13
"""Before this opset they took all axes from one on as one, which ONNX's reference does not."""

_EVALUATED_FROM = {"DequantizeLinear": 19}
"""The first opset that ONNX's reference has; earlier ones mean the same."""

_LINEAR = frozenset((
    "Abs", "Acos", "Acosh", "Add", "And", "ArgMax", "ArgMin", "Asin", "Asinh", "Atan", "Atanh",
    "BatchNormalization", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor",
    "Cast", "Ceil", "Celu", "Clip", "Compress", "Concat", "Constant",
    "ConstantOfShape", "Cos", "Cosh", "CumSum", "DepthToSpace", "DequantizeLinear", "Div",
    "Dropout", "DynamicQuantizeLinear", "Elu", "Equal", "Erf", "Exp", "Expand", "EyeLike",
    "Flatten", "Floor", "Gather", "GatherElements", "GatherND", "Gelu", "Gemm", "Greater",
    "GreaterOrEqual", "HardSigmoid", "HardSwish", "Hardmax", "Identity", "InstanceNormalization",
    "IsInf", "IsNaN", "LayerNormalization", "LeakyRelu", "Less", "LessOrEqual", "Log",
    "LogSoftmax", "MatMul", "MatMulInteger", "Max", "Mean", "Min", "Mish", "Mod", "Mul", "Neg",
    "NonZero", "Not", "OptionalHasElement", "Or", "PRelu", "Pad", "Pow", "QuantizeLinear",
    "Range", "Reciprocal", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax",
    "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Relu", "Reshape",
    "Resize", "ReverseSequence", "Round", "ScatterElements", "ScatterND", "Selu", "Shape",
    "Sigmoid", "Sign", "Sin", "Sinh", "Size", "Slice", "Softmax", "Softplus", "Softsign",
    "SpaceToDepth", "Split", "Sqrt", "Squeeze", "Sub", "Sum", "Swish", "Tan", "Tanh",
    "ThresholdedRelu", "Tile", "TopK", "Transpose", "Trilu", "Unique", "Unsqueeze", "Where",
    "Xor",
))  # fmt: skip
"""Operators that take time and memory as what they read and make; no loops, windows or searches."""

_AS_READ = ("BatchNormalization", "Dropout", "Erf", "MatMulInteger", "ReduceLogSumExp")
"""ONNX's reference trains, draws masks, rounds to float32, takes rows for columns, or gives NaN for
infinities."""

_NO_LARGER = ("Compress", "NonZero", "Unique")
"""They make no more than they read, though their shapes depend on values."""

_SLOW, _MOST_SLOW = ("Erf", "Gelu", "TopK", "Unique"), 2**20
"""Operators that sort or call Python for each element, and how many elements they may read."""

_Way: TypeAlias = "Callable[[Any, NodeSite, Mapping[str, Any]], dict[str, Any]]"


class Folding:
    """The results of nodes on known values, for one model."""

    def applies(self, node: Any, site: NodeSite, known: Mapping[str, Any]) -> bool:
        """Whether all that the node reads is known, and its operator is one that is evaluated."""
        return (
            node.domain in DOMAINS_OF_ONNX
            and node.op_type in _LINEAR
            and all(tensor in known for tensor in node.input if tensor)
            and (node.op_type not in _FLATTENED or site.opset >= _UNFLATTENED)
        )

    def results(
        self,
        node: Any,
        site: NodeSite,
        known: Mapping[str, Any],
        inferred: Mapping[str, TensorType],
    ) -> dict[str, Any]:
        """The node's outputs as arrays. Raises UsageError for outputs that are too large."""
        values = [one.t for one in node.attribute if one.name == "value"]
        if node.op_type == "Constant" and values:
            return {node.output[0]: array_of(values[0], site.where)}
        for tensor, told in inferred.items():
            if told.shape is None and node.op_type not in _NO_LARGER:
                raise site.error(f"{node.op_type}: the shape of {tensor!r} is not known")
            site.expect_room(told.shape or (), told.dtype or "int64")
        if node.op_type in _SLOW and (size := known[node.input[0]].size) > _MOST_SLOW:
            problem = f"{node.op_type} of {size} known elements; expected at most {_MOST_SLOW}"
            raise site.error(problem, "make them an input")
        evaluated = partial(_evaluated, inferred)
        if node.op_type not in READERS:
            return evaluated(node, site, known)
        if node.op_type in _AS_READ:
            return _as_read(node, site, known)
        ways: list[_Way] = [evaluated, _as_read]
        problems: list[UsageError] = []
        for way in ways[::-1] if _saturates(node, inferred) else ways:
            try:
                return _expected(way(node, site, known), site, inferred)
            except UsageError as error:
                problems.append(error)
        raise problems[0]


def _saturates(node: Any, inferred: Mapping[str, TensorType]) -> bool:
    """Whether floats become integers: ONNX's reference leaves those that are too large to numpy.

    So it comes second; it has formats that ours lacks.
    """
    is_cast = node.op_type == "Cast" and inferred[node.output[0]].dtype.startswith(("int", "uint"))
    return is_cast or node.op_type == "QuantizeLinear"


def _expected(
    found: dict[str, Any], site: NodeSite, inferred: Mapping[str, TensorType]
) -> dict[str, Any]:
    """The outputs. Raises UsageError where one has another shape or dtype than ONNX infers."""
    for name, array in found.items():
        told = inferred.get(name, TensorType("", None))
        if told.shape not in (None, array.shape) or told.dtype not in ("", str(array.dtype)):
            raise site.error(f"{name!r} is {array.dtype}{list(array.shape)}, ONNX infers another")
    return found


def _as_read(node: Any, site: NodeSite, known: Mapping[str, Any]) -> dict[str, Any]:
    """The outputs by the operators that the node becomes, each rounded to its dtype."""
    builder = NetworkBuilder(site.model)
    builder.reserve([*node.input, *node.output])
    values = {tensor: known[tensor] for tensor in node.input if tensor}
    READERS[node.op_type](site.within(builder, values))
    network = builder.network(output for output in node.output if builder.producer(output))
    values.update(network.constants)
    with np.errstate(all="ignore"):
        for step in network.nodes:
            value = evaluate_node(step, network.specs, values, builder.operators)
            values[step.output] = np.asarray(value).astype(network.specs[step.output].dtype)
    return {output: values[output] for output in node.output if output in values}


def _evaluated(
    inferred: Mapping[str, TensorType], node: Any, site: NodeSite, known: Mapping[str, Any]
) -> dict[str, Any]:
    """The outputs by numpy or ONNX's reference; floats of 16 bits are computed in float32."""
    try:
        with np.errstate(all="ignore"):
            operands = [_widened(known[tensor]) for tensor in node.input if tensor]
            if node.op_type in BY_NUMPY:
                found = BY_NUMPY[node.op_type](site, *operands)
            else:
                found = _by_reference(node, site, operands)
            return {
                name: _narrowed(np.asarray(array), inferred.get(name))
                for name, array in zip(node.output, found, strict=False)
                if name
            }
    except Exception as error:
        raise site.error(f"cannot evaluate {node.op_type!r} on constants: {error}") from error


def _widened(array: Any) -> Any:
    return array.astype(np.float32) if str(array.dtype) in NARROW else array


def _narrowed(array: Any, told: TensorType | None) -> Any:
    return array.astype(told.dtype) if told and told.dtype in NARROW else array


def _by_reference(node: Any, site: NodeSite, operands: Sequence[Any]) -> Sequence[Any]:
    from onnx import NodeProto, TensorProto, helper
    from onnx.reference import ReferenceEvaluator

    given = dict(zip(filter(None, node.input), operands, strict=True))
    values = [helper.make_tensor_value_info(t, TensorProto.UNDEFINED, None) for t in given]
    named = [tensor for tensor in node.output if tensor]
    results = [helper.make_tensor_value_info(t, TensorProto.UNDEFINED, None) for t in named]
    plain = NodeProto()
    plain.CopyFrom(node)
    plain.domain = ""
    graph = helper.make_graph([plain], "constant", values, results)
    opset = max(site.opset, _EVALUATED_FROM.get(node.op_type, 0))
    evaluator = ReferenceEvaluator(graph, opsets={**site.opsets, "": opset})
    found = dict(zip(named, evaluator.run(None, given), strict=True))
    return [found.get(tensor) for tensor in node.output]
