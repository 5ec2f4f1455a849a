"""Folds nodes whose operands are all constants, by ONNX's own reference, within bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright_onnx.model.node_check import DOMAINS_OF_ONNX, TensorType
from tilewright_onnx.model.node_site import NodeSite
from tilewright_onnx.model.tensors import array_of

_FLATTENED, _UNFLATTENED = ("Softmax", "LogSoftmax", "Hardmax"), 13
"""Before this opset they took all axes from one on as one, which ONNX's reference does not."""

_EVALUATED_FROM = {"DequantizeLinear": 19}
"""The first opset that ONNX's reference has; earlier ones mean the same."""

_LINEAR = frozenset((
    "Abs", "Acos", "Acosh", "Add", "And", "ArgMax", "ArgMin", "Asin", "Asinh", "Atan", "Atanh",
    "BatchNormalization", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor",
    "Cast", "CastLike", "Ceil", "Celu", "Clip", "Compress", "Concat", "Constant",
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

_NO_LARGER = ("Compress", "NonZero", "Unique")
"""They make no more than they read, though their shapes depend on values."""


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
        return _evaluated(node, site, known)


def _evaluated(node: Any, site: NodeSite, known: Mapping[str, Any]) -> dict[str, Any]:
    from onnx import NodeProto, TensorProto, helper
    from onnx.reference import ReferenceEvaluator

    operands = {tensor: known[tensor] for tensor in node.input if tensor}
    values = [helper.make_tensor_value_info(t, TensorProto.UNDEFINED, None) for t in operands]
    results = [
        helper.make_tensor_value_info(t, TensorProto.UNDEFINED, None) for t in node.output if t
    ]
    plain = NodeProto()
    plain.CopyFrom(node)
    plain.domain = ""
    graph = helper.make_graph([plain], "constant", values, results)
    opset = max(site.opset, _EVALUATED_FROM.get(node.op_type, 0))
    try:
        evaluator = ReferenceEvaluator(graph, opsets={**site.opsets, "": opset})
        found = evaluator.run(None, operands)
    except Exception as error:
        raise site.error(f"cannot evaluate {node.op_type!r} on constants: {error}") from error
    return dict(zip((r.name for r in results), map(np.asarray, found), strict=True))
