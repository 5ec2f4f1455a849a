"""bfloat16, which is the upper half of a float32, from and to float32."""

from __future__ import annotations

from collections.abc import Callable

from tilewright_x86.llvm_ir.llvm_text import FunctionText, type_of
from tilewright_x86.llvm_ir.narrowing import low_bits


def widened_bfloat(function: FunctionText, text: str, width: int) -> str:
    """The float32 of the same value, exact."""
    define, words = function.define, type_of("int32", width)
    bits = define(f"zext {type_of('bfloat16', width)} {text} to {words}")
    shifted = define(f"shl {words} {bits}, {_splat(16, width)}")
    return define(f"bitcast {words} {shifted} to {type_of('float32', width)}")


def rounded_bfloat(
    function: FunctionText, text: str, width: int, uses: Callable[[str], bool]
) -> str:
    """The nearest bfloat16, ties to even; NaN stays NaN.

    The instruction for it flushes denormals to zero.
    """
    define, floats, words = function.define, type_of("float32", width), type_of("int32", width)
    narrow = type_of("bfloat16", width)
    if width and uses("avx512bf16"):
        one = define(f"fptrunc {floats} {text} to <{width} x bfloat>")
        return define(f"bitcast <{width} x bfloat> {one} to {narrow}")
    bits = define(f"bitcast {floats} {text} to {words}")
    high = define(f"lshr {words} {bits}, {_splat(16, width)}")
    odd = define(f"and {words} {high}, {_splat(1, width)}")
    half = define(f"add {words} {bits}, {_splat(0x7FFF, width)}")
    rounded = define(f"add {words} {half}, {odd}")
    nearest = define(f"lshr {words} {rounded}, {_splat(16, width)}")
    quiet = define(f"or {words} {high}, {_splat(0x40, width)}")
    nan = define(f"fcmp uno {floats} {text}, {text}")
    chosen = define(f"select {type_of('bool', width)} {nan}, {words} {quiet}, {words} {nearest}")
    return low_bits(function, chosen, width, 32, 16)


def _splat(number: int, width: int) -> str:
    return f"splat (i32 {number})" if width else str(number)
