"""Names of loop variables and buffers as C identifiers."""

from __future__ import annotations

import re
from functools import lru_cache

from tilewright_cuda.prelude import HELPERS

_NO_LETTER = re.compile(r"[^A-Za-z0-9_]+")
_TAKEN = frozenset({
    "asm", "auto", "bool", "break", "case", "char", "class", "const", "continue", "default",
    "delete", "do", "double", "else", "enum", "extern", "float", "for", "goto", "if", "inline",
    "int", "long", "new", "operator", "private", "register", "return", "short", "signed",
    "sizeof", "static", "struct", "switch", "template", "this", "throw", "try", "typedef",
    "union", "unsigned", "void", "volatile", "while", "min", "max", "abs", "exp", "log", "sqrt",
    "tanh", "erf", "sin", "cos", "floor", "ceil", "pow", "round", "threadIdx", "blockIdx",
    "blockDim", "gridDim", "warpSize", "tw_shared", *HELPERS,
})  # fmt: skip
"""Words of C++ and of CUDA that a variable could be named after, and names of the prelude."""


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
