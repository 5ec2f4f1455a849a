"""Products of a warp, two `mma.sync` each: `m16n8k8` of tf32, `m16n8k16` of float16 and bfloat16,
`m16n8k32` of bytes.

16 rows by 8 columns of sums are spread over the registers of 32 threads, which all take part. Both
operands have their terms side by side: that of the columns is `[columns, terms]`. With two, a
thread loads 16 bytes of a row at once: which terms meet in which of them makes no difference.
"""

from __future__ import annotations

from tilewright_tensor.expressions.expr import Const, cast
from tilewright_tensor.ir.dag import compute, placeholder, reduce_axis, reduce_sum
from tilewright_tensor.ir.tensor_instruction import TensorInstruction

ROWS, COLUMNS = 16, 8
"""Of the sums of an instruction."""
_FEATURE = "sm_80"
_SHORT = {
    "tf32": "tf32", "bfloat16": "bf16", "float16": "f16", "float32": "f32",
    "int8": "s8", "uint8": "u8", "int32": "s32",
}  # fmt: skip


def _cleared(dtype: str) -> TensorInstruction:
    meaning = compute("c", (ROWS, COLUMNS), lambda *_: Const(0, dtype), axes=("i", "j"))
    name = f"mma.clear.{_SHORT[dtype]}"
    return TensorInstruction(name, "cuda", meaning, {"c": (None, 1)}, "fragment", _FEATURE)


def _stored(dtype: str) -> TensorInstruction:
    """`c[i, j] = a[i, j]`: sums to shared memory."""
    a = placeholder("a", (ROWS, COLUMNS), dtype)
    meaning = compute("c", (ROWS, COLUMNS), lambda i, j: a[i, j])
    strides = {"a": (None, 1), "c": (None, 1)}
    name = f"mma.store.{_SHORT[dtype]}"
    return TensorInstruction(name, "cuda", meaning, strides, "shared", _FEATURE)


def _product(terms: int, left: str, right: str, result: str) -> TensorInstruction:
    """`c[i, j] += sum over k of a[i, k] * b[j, k]`, k over the terms of two instructions."""
    both = 2 * terms
    a, b = placeholder("a", (ROWS, both), left), placeholder("b", (COLUMNS, both), right)
    k = reduce_axis(both, "k")
    meaning = compute(
        "c",
        (ROWS, COLUMNS),
        lambda i, j: reduce_sum(cast(a[i, k], result) * cast(b[j, k], result), k),
    )
    strides = {"a": (None, 1), "b": (None, 1), "c": (None, 1)}
    name = f"mma.m{ROWS}n{COLUMNS}k{terms}x2.{_SHORT[left]}.{_SHORT[right]}"
    return TensorInstruction(
        name, "cuda", meaning, strides, "fragment", _FEATURE, _cleared(result), _stored(result)
    )


PRODUCTS = {
    ("tf32", "tf32"): _product(8, "tf32", "tf32", "float32"),
    ("float16", "float16"): _product(16, "float16", "float16", "float32"),
    ("bfloat16", "bfloat16"): _product(16, "bfloat16", "bfloat16", "float32"),
    ("int8", "int8"): _product(32, "int8", "int8", "int32"),
    ("int8", "uint8"): _product(32, "int8", "uint8", "int32"),
    ("uint8", "int8"): _product(32, "uint8", "int8", "int32"),
    ("uint8", "uint8"): _product(32, "uint8", "uint8", "int32"),
}
"""By data types of the operands."""
