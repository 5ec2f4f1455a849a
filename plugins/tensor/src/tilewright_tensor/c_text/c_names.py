"""Names of loop variables and buffers as C identifiers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from tilewright_tensor.expressions.affine import Var
from tilewright_tensor.expressions.buffer import Buffer

_NO_LETTER = re.compile(r"[^A-Za-z0-9_]+")
_WORDS = frozenset({
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break",
    "case", "catch", "char", "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return",
    "co_yield", "compl", "concept", "const", "const_cast", "consteval", "constexpr", "constinit",
    "continue", "decltype", "default", "delete", "do", "double", "dynamic_cast", "else", "enum",
    "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if", "inline",
    "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr",
    "operator", "or", "or_eq", "private", "protected", "public", "register", "reinterpret_cast",
    "requires", "restrict", "return", "short", "signed", "sizeof", "static", "static_assert",
    "static_cast", "struct", "switch", "template", "this", "thread_local", "throw", "true", "try",
    "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile",
    "wchar_t", "while", "xor", "xor_eq", "NULL",
})  # fmt: skip
"""Words of C and C++ that a variable could be named after."""


class CNames:
    """Distinct C identifiers for names of a program, other than the words of C and those reserved.

    A variable and a buffer of one name get two.
    """

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._given: dict[tuple[bool, str], str] = {}
        self._used = {*_WORDS, *reserved}

    def of(self, thing: str | Var | Buffer) -> str:
        """`conv.ax0@ax1.0` as `conv_ax0_ax1_0`, with a number appended where that is taken."""
        name = thing if isinstance(thing, str) else thing.name
        key = isinstance(thing, Var), name
        known = self._given.get(key)
        if known is None:
            plain = _identifier(name)
            known, count = plain, 1
            while known in self._used:
                count += 1
                known = f"{plain}_{count}"
            self._used.add(known)
            self._given[key] = known
        return known


@lru_cache(maxsize=4096)
def _identifier(name: str) -> str:
    plain = _NO_LETTER.sub("_", name)
    return plain if plain and not plain[0].isdigit() else f"_{plain}"
