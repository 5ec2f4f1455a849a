"""Instructions that add small dot products to the lanes of a vector register.

Every lane of the result has its own row of the second operand, and all share the first.
"""

from __future__ import annotations

from tilewright_tensor.expressions.expr import cast
from tilewright_tensor.ir.dag import compute, placeholder, reduce_axis, reduce_sum
from tilewright_tensor.ir.tensor_instruction import TensorInstruction


def _dot_product(
    mnemonic: str, bits: int, feature: str, dtypes: tuple[str, str, str]
) -> TensorInstruction:
    """`c[i] += sum over k of a[k] * b[i, k]`: 4 bytes of `a` a lane, rows of `b` side by side."""
    left, right, result = dtypes
    lanes, terms = bits // 32, 2 if left == "bfloat16" else 4
    a, b = placeholder("a", (terms,), left), placeholder("b", (lanes, terms), right)
    k = reduce_axis(terms, "k")
    meaning = compute(
        "c",
        (lanes,),
        lambda i: reduce_sum(cast(a[k], result) * cast(b[i, k], result), k),
    )
    strides = {"a": (1,), "b": (terms, 1), "c": (1,)}
    return TensorInstruction(f"{mnemonic}.{bits}", "x86", meaning, strides, "register", feature)


VPDPBUSD = {
    bits // 32: _dot_product("vpdpbusd", bits, feature, ("uint8", "int8", "int32"))
    for bits, feature in ((512, "avx512vnni"), (256, "avxvnni"))
}
"""By lanes: sums of products of four unsigned and four signed bytes in int32, exact."""
VDPBF16PS = {
    bits // 32: _dot_product("vdpbf16ps", bits, "avx512bf16", ("bfloat16", "bfloat16", "float32"))
    for bits in (512, 256, 128)
}
"""By lanes: sums of products of two bfloat16 in float32, denormals flushed to zero."""
