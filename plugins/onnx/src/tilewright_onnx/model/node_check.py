"""A node against the schema of its operator, before anything reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tilewright.errors import UsageError
from tilewright.sizes import check_shape
from tilewright_onnx.model.node_site import NodeSite
from tilewright_onnx.model.tensors import array_of

DOMAINS_OF_ONNX = ("", "ai.onnx")
"""Both name the default operator set."""

_IR_VERSION = 10

_SMALL = 1024
"""Elements of a known operand, such as a shape, up to which ONNX is told its value."""

_MOST_AXES = 64
"""As numpy has them."""

_LARGEST = 2**31
"""No attribute is larger, but for the ends of a Slice."""

_FREE = ("starts", "ends", "value_int", "value_ints", "int64_default", "k")

_POSITIVE = (
    "blocksize", "dilations", "group", "hidden_size", "kernel_shape", "kv_num_heads", "num_groups",
    "num_heads", "num_outputs", "output_shape", "q_num_heads", "size", "strides",
)  # fmt: skip

_NOT_NEGATIVE = ("batch_dims", "output_padding")

_YES_OR_NO = (
    "allowzero", "antialias", "ceil_mode", "count_include_pad", "exclusive", "input_forget",
    "is_causal", "keepdims", "layout", "linear_before_reset", "noop_with_empty_axes", "reverse",
    "select_last_index", "training_mode", "transA", "transB", "upper",
)  # fmt: skip

_DIRECTIONS = ("forward", "reverse", "bidirectional")
_TEXTS: Mapping[str, tuple[str, ...]] = {
    "approximate": ("none", "tanh"),
    "auto_pad": ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"),
    "nearest_mode": ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
    "BitShift.direction": ("LEFT", "RIGHT"),
    "DepthToSpace.mode": ("DCR", "CRD"),
    **{f"{one}.direction": _DIRECTIONS for one in ("GRU", "LSTM", "RNN")},
    "Pad.mode": ("constant", "reflect", "edge", "wrap"),
}
"""By attribute, or operator and attribute."""

_PER_AXIS = ("axes", "ends", "pads", "repeats", "scales", "shape", "sizes", "starts", "steps")
"""Operands with an element or two for each axis of a tensor."""

_AXES = ("axes", "axis")

_QUANTISING = ("DequantizeLinear", "QuantizeLinear")
"""With one scale for the whole tensor, they do not look at the axis."""

_SINGLE = ("axis", "constant_value", "k", "max", "min", "training_mode")
"""Operands that are one number."""


@dataclass(frozen=True)
class TensorType:
    """What is known of a tensor before its node is read; empty or None where unknown."""

    dtype: str
    shape: tuple[int, ...] | None


def check_node(
    node: Any, site: NodeSite, specs: Mapping[str, Any], known: Mapping[str, Any]
) -> dict[str, TensorType]:
    """What ONNX infers of the node's outputs, by name.

    Raises UsageError for an operator that the opset does not have, too few or too many
    operands, attributes that are missing, of another type or out of range, axes that the operand
    does not have, shapes that do not go together, and outputs that are no tensors.
    """
    from onnx import helper, numpy_helper
    from onnx.shape_inference import infer_node_outputs

    schema = schema_of(node, site.opsets)
    if schema is None:
        raise site.error(
            f"there is no operator {node.op_type!r} in opset {site.opset}",
            "export the model for the opset that its operators are of",
        )
    types, values = {}, {}
    for tensor in filter(None, node.input):
        if tensor not in specs and tensor not in known:
            raise site.error(f"reads {tensor!r}, which no node before it makes")
        one = known[tensor] if tensor in known else specs[tensor]
        element_type = helper.np_dtype_to_tensor_dtype(np.dtype(one.dtype))
        types[tensor] = helper.make_tensor_type_proto(element_type, one.shape)
        if tensor in known and one.size <= _SMALL:
            values[tensor] = numpy_helper.from_array(np.asarray(one))
    _check_attributes(node, site)
    _check_operands(node, site, schema, types, known)
    imports = [helper.make_opsetid(*pair) for pair in site.opsets.items()]
    try:
        inferred = infer_node_outputs(schema, node, types, values, None, imports, _IR_VERSION)
    except Exception as error:
        # It raises several types of its own, and RuntimeError.
        raise site.error(f"{node.op_type}: {_reason(error)}") from error
    if node.op_type in ("DepthToSpace", "SpaceToDepth"):
        _check_blocks(node, site, types)
    return {tensor: _tensor_type(site, tensor, told) for tensor, told in inferred.items()}


def schema_of(node: Any, opsets: Mapping[str, int]) -> Any:
    """The schema of the node's operator; None where the opset, or ONNX, does not have it."""
    from onnx import defs

    domain = "" if node.domain in DOMAINS_OF_ONNX else node.domain
    try:
        return defs.get_schema(node.op_type, opsets.get(domain, 1), domain)
    except defs.SchemaError:
        return None


def _check_attributes(node: Any, site: NodeSite) -> None:
    from onnx import AttributeProto

    for one in node.attribute:
        place = f"{node.op_type}: attribute {one.name!r}"
        if one.type == AttributeProto.TENSOR:
            array_of(one.t, site.where)
        if one.type in (AttributeProto.SPARSE_TENSOR, AttributeProto.SPARSE_TENSORS):
            # ONNX's reference would open the file that it names, if in the current folder.
            raise site.error(f"{place} is sparse; expected a dense tensor")
        least, most = _range(one.name)
        for number in [one.i] if one.type == AttributeProto.INT else one.ints:
            if one.name not in _FREE and not least <= number <= most:
                raise site.error(f"{place} has {number}; expected {least} to {most}")
        if one.type != AttributeProto.STRING or one.name.startswith("value"):
            continue
        text = one.s.decode(errors="replace")
        allowed = _TEXTS.get(one.name) or _TEXTS.get(f"{node.op_type}.{one.name}")
        if allowed and text not in allowed:
            raise site.error(f"{place} is {text!r}; expected one of {', '.join(allowed)}")


def _range(attribute: str) -> tuple[int, int]:
    if attribute in _YES_OR_NO:
        return 0, 1
    least = 1 if attribute in _POSITIVE else 0 if attribute in _NOT_NEGATIVE else -_LARGEST
    return least, _LARGEST


def _check_operands(
    node: Any,
    site: NodeSite,
    schema: Any,
    types: Mapping[str, Any],
    known: Mapping[str, Any],
) -> None:
    """Numbers of elements, and axes, which ONNX does not check everywhere."""
    formal = [one.name for one in schema.inputs]
    for position, tensor in enumerate(node.input):
        name = formal[position] if position < len(formal) else ""
        if not tensor:
            continue
        if name in _PER_AXIS or node.op_type == "ConstantOfShape":
            extents = _extents(types[tensor])
            if len(extents) != 1 or extents[0] > 2 * _MOST_AXES:
                raise site.error(
                    f"{node.op_type}: operand {position} ({name}) has shape {extents}; expected "
                    f"one axis of at most {2 * _MOST_AXES} elements"
                )
        if name in _SINGLE and prod(_extents(types[tensor])) != 1:
            raise site.error(f"{node.op_type}: operand {position} ({name}) is not one number")
        if name in _AXES and position and tensor in known and known[tensor].dtype.kind == "i":
            _check_axes(node, site, np.ravel(known[tensor]).tolist(), types)
    scale = node.input[1] if node.op_type in _QUANTISING and len(node.input) > 1 else ""
    by_tensor = bool(scale) and prod(_extents(types[scale])) == 1
    for attribute in node.attribute:
        if attribute.name in _AXES and not by_tensor:
            _check_axes(node, site, list(attribute.ints) or [attribute.i], types)


def _check_blocks(node: Any, site: NodeSite, types: Mapping[str, Any]) -> None:
    """DepthToSpace and SpaceToDepth take whole blocks only."""
    shape = _extents(types[node.input[0]])
    size, is_depth = site.attribute("blocksize", 1), node.op_type == "DepthToSpace"
    whole = size ** (len(shape) - 2) if is_depth else size
    for extent in shape[1:2] if is_depth else shape[2:]:
        if extent % whole:
            problem = f"{node.op_type} of {shape} by blocks of {size}"
            raise site.error(f"{problem}: {extent} is no multiple of {whole}")


def _check_axes(node: Any, site: NodeSite, axes: Sequence[int], types: Mapping[str, Any]) -> None:
    """Axes are of the first operand (or of an output with more), each is named once."""
    if not node.input or not node.input[0]:
        return
    rank = len(_extents(types[node.input[0]]))
    rank += len(axes) if node.op_type in ("Unsqueeze", "OneHot") else 0
    last = rank if node.op_type == "Flatten" else rank - 1
    for axis in axes:
        if not -rank <= axis <= last:
            raise site.error(f"{node.op_type} of axis {axis}; expected {-rank} to {last}")
    if len({axis % rank for axis in axes if rank}) < len(axes) > 1:
        raise site.error(f"{node.op_type} of axes {list(axes)}, one of them twice")


def _extents(tensor_type: Any) -> list[int]:
    return [one.dim_value for one in tensor_type.tensor_type.shape.dim]


def _reason(error: Exception) -> str:
    """ONNX's own words, without the brackets before them."""
    words = str(error).partition("\n")[0] or type(error).__name__
    return words.partition("Error] ")[2] or words


def _tensor_type(site: NodeSite, tensor: str, told: Any) -> TensorType:
    """Raises UsageError for a sequence, an optional value and the like."""
    from onnx import helper

    kind = told.WhichOneof("value")
    if kind not in ("tensor_type", None):
        raise site.error(f"makes {tensor!r}, a {kind.removesuffix('_type')}; expected tensors")
    shape, dtype = told.tensor_type.shape, ""
    if told.tensor_type.elem_type:
        dtype = str(helper.tensor_dtype_to_np_dtype(told.tensor_type.elem_type))
    if not told.tensor_type.HasField("shape"):
        return TensorType(dtype, None)
    if not all(one.HasField("dim_value") for one in shape.dim):
        return TensorType(dtype, None)
    extents = [one.dim_value for one in shape.dim]
    try:
        check_shape(extents, dtype)
    except UsageError as error:
        raise error.within(f"{site.where}: {tensor!r}") from None
    return TensorType(dtype, tuple(extents))
