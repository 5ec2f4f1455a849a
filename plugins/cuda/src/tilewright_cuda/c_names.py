"""Names of loop variables and buffers as C identifiers."""

from __future__ import annotations

import re
from functools import lru_cache

from tilewright_cuda.prelude import FLOAT_FUNCTIONS, HELPERS

_NO_LETTER = re.compile(r"[^A-Za-z0-9_]+")
_TAKEN = frozenset({
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break",
    "case", "catch", "char", "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return",
    "co_yield", "compl", "concept", "const", "const_cast", "consteval", "constexpr", "constinit",
    "continue", "decltype", "default", "delete", "do", "double", "dynamic_cast", "else", "enum",
    "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if", "inline",
    "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr",
    "operator", "or", "or_eq", "private", "protected", "public", "register", "reinterpret_cast",
    "requires", "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast",
    "struct", "switch", "template", "this", "thread_local", "throw", "true", "try", "typedef",
    "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "wchar_t",
    "while", "xor", "xor_eq",
    "NULL", "abs", "max", "min", "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize",
    "float2", "float4", "int2", "int4", "make_float2", "make_float4", "make_int2", "make_int4",
    "tw_shared", *HELPERS, *FLOAT_FUNCTIONS, *FLOAT_FUNCTIONS.values(),
    *(f"{name}f" for name in FLOAT_FUNCTIONS.values()),
})  # fmt: skip
"""Words of C++ and of CUDA that a variable could be named after, and what kernels call."""


class CNames:
    """Distinct C identifiers for names of a program; equal names get equal identifiers."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}
        self._used = {*_TAKEN}

    def of(self, name: str) -> str:
        """`conv.ax0@ax1.0` as `conv_ax0_ax1_0`, with a number behind it where that is taken."""
        known = self._given.get(name)
        if known is None:
            plain = _identifier(name)
            known, count = plain, 1
            while known in self._used:
                count += 1
                known = f"{plain}_{count}"
            self._used.add(known)
            self._given[name] = known
        return known


@lru_cache(maxsize=4096)
def _identifier(name: str) -> str:
    plain = _NO_LETTER.sub("_", name)
    return plain if plain and not plain[0].isdigit() else f"_{plain}"
