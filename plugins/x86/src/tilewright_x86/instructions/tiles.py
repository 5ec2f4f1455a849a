"""Instructions of AMX: products of tiles of 16 rows of 64 bytes, summed in tile registers.

Rows of the first operand hold terms side by side; the second has them in groups of four bytes, as
`[K/2][N][2]` in bfloat16 and `[K/4][N][4]` in int8.
"""

from __future__ import annotations

from tilewright_tensor.expressions.expr import Const, cast
from tilewright_tensor.ir.dag import compute, placeholder, reduce_axis, reduce_sum
from tilewright_tensor.ir.tensor_instruction import TensorInstruction

ROWS = 16
"""Rows of a tile, and columns of sums: 4 bytes each."""
_GROUP_BYTES = 4


def _cleared(dtype: str) -> TensorInstruction:
    meaning = compute("c", (ROWS, ROWS), lambda *_: Const(0, dtype), axes=("i", "j"))
    return TensorInstruction(
        f"tilezero.{dtype}", "x86", meaning, {"c": (None, 1)}, "fragment", "amx-tile"
    )


def _stored(dtype: str) -> TensorInstruction:
    """`c[i, j] = a[i, j]`: a tile of sums as elements of memory."""
    a = placeholder("a", (ROWS, ROWS), dtype)
    meaning = compute("c", (ROWS, ROWS), lambda i, j: a[i, j])
    strides = {"a": (None, 1), "c": (None, 1)}
    return TensorInstruction(f"tilestored.{dtype}", "x86", meaning, strides, "local", "amx-tile")


def _product(mnemonic: str, feature: str, left: str, right: str, result: str) -> TensorInstruction:
    """`c[i, j] += sum over k and l of a[i, k, l] * b[k, j, l]`."""
    group = _GROUP_BYTES // (2 if left == "bfloat16" else 1)
    a = placeholder("a", (ROWS, ROWS, group), left)
    b = placeholder("b", (ROWS, ROWS, group), right)
    k, group_axis = reduce_axis(ROWS, "k"), reduce_axis(group, "l")
    meaning = compute(
        "c",
        (ROWS, ROWS),
        lambda i, j: reduce_sum(
            cast(a[i, k, group_axis], result) * cast(b[k, j, group_axis], result),
            k,
            group_axis,
        ),
    )
    strides = {"a": (None, group, 1), "b": (None, group, 1), "c": (None, 1)}
    return TensorInstruction(
        mnemonic,
        "x86",
        meaning,
        strides,
        "fragment",
        feature,
        _cleared(result),
        _stored(result),
    )


PRODUCTS = {
    ("bfloat16", "bfloat16"): _product("tdpbf16ps", "amx-bf16", "bfloat16", "bfloat16", "float32"),
    ("int8", "int8"): _product("tdpbssd", "amx-int8", "int8", "int8", "int32"),
    ("int8", "uint8"): _product("tdpbsud", "amx-int8", "int8", "uint8", "int32"),
    ("uint8", "int8"): _product("tdpbusd", "amx-int8", "uint8", "int8", "int32"),
    ("uint8", "uint8"): _product("tdpbuud", "amx-int8", "uint8", "uint8", "int32"),
}
"""By data types of the operands."""
