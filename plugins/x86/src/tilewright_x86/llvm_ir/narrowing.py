"""Whole numbers cut to their low bits."""

from __future__ import annotations

from tilewright_x86.llvm_ir.llvm_text import FunctionText


def low_bits(function: FunctionText, text: str, width: int, have: int, want: int) -> str:
    """A number of `want` bits, or a vector of a width of them, from wider ones.

    A vector is picked from the parts of the wider one. LLVM 22 takes a `trunc` before a masked
    store of which one lane is left, known when it compiles, for a scalar store of the wider number:
    it writes over what lies behind.
    """
    if not width:
        return function.define(f"trunc i{have} {text} to i{want}")
    parts = have // want
    kind = f"<{width * parts} x i{want}>"
    split = function.define(f"bitcast <{width} x i{have}> {text} to {kind}")
    picks = ", ".join(f"i32 {lane * parts}" for lane in range(width))
    return function.define(
        f"shufflevector {kind} {split}, {kind} poison, <{width} x i32> <{picks}>"
    )
