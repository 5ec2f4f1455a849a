"""Tensors of a model as arrays, once dims, type and data agree."""

from __future__ import annotations

from math import prod
from typing import Any

from tilewright.errors import UsageError

MOST_BYTES = 2**31 - 1
"""Of all that a model holds: no longer message can be written, so no oracle could read it."""

NARROW = ("bfloat16", "float16")
"""Floats that are computed with in float32."""


def array_of(tensor: Any, where: str) -> Any:
    """The numpy array of a TensorProto; raises UsageError unless its parts agree."""
    from onnx import TensorProto, numpy_helper

    if tensor.data_location == TensorProto.EXTERNAL:
        raise UsageError(
            f"the data of tensor {tensor.name!r} is in a file that was not loaded",
            where=where,
            remedy="give the path of the model, or what onnx.load(PATH) gives",
        )
    declared_bytes(tensor, where)
    try:
        return numpy_helper.to_array(tensor)
    except (ValueError, TypeError, OverflowError) as error:
        raise _wrong(tensor, where, f"dims, type and data do not agree ({error})") from error


def declared_bytes(tensor: Any, where: str) -> int:
    """How many bytes the elements take by dims and type; those of texts are not known: 0."""
    from onnx import TensorProto, helper

    if any(extent < 0 for extent in tensor.dims):
        raise _wrong(tensor, where, f"dims {list(tensor.dims)}; expected none below 0")
    if tensor.data_type == TensorProto.STRING:
        return 0
    try:
        dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
    except KeyError:
        raise _wrong(tensor, where, f"there is no data type {tensor.data_type}") from None
    bits = _PACKED_BITS.get(TensorProto.DataType.Name(tensor.data_type), 8 * dtype.itemsize)
    size: int = -(-prod(tensor.dims) * bits // 8)
    if size > MOST_BYTES:
        problem = f"dims {list(tensor.dims)} take {size} bytes"
        raise _wrong(tensor, where, problem, f"models of at most {MOST_BYTES} bytes are read")
    return size


def _wrong(tensor: Any, where: str, problem: str, remedy: str = "") -> UsageError:
    remedy = remedy or "export or copy the model again"
    return UsageError(f"tensor {tensor.name!r}: {problem}", where=where, remedy=remedy)


_PACKED_BITS = {"INT4": 4, "UINT4": 4, "FLOAT4E2M1": 4, "INT2": 2, "UINT2": 2}
"""Bits of an element where several share a byte."""
