"""Matrices of vectors transposed by shuffles."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright_x86.llvm_ir.llvm_text import FunctionText


def transposed(function: FunctionText, rows: Sequence[str], width: int, item: str) -> list[str]:
    """The columns of a matrix of rows of a width, both numbers powers of two, as vectors.

    Interleaving the first half of the vectors with the second rotates the bits of every element's
    number (row, column) by one; so many times as the row has bits, and it is (column, row).
    """
    count, vectors, length = len(rows), list(rows), width

    def picked(left: str, right: str, picks: Sequence[int]) -> str:
        kind = f"<{length} x {item}>"
        order = ", ".join(f"i32 {pick}" for pick in picks)
        return function.define(
            f"shufflevector {kind} {left}, {kind} {right}, <{len(picks)} x i32> <{order}>"
        )

    low = [place for i in range(width // 2) for place in (i, width + i)]
    high = [place + width // 2 for place in low]
    for _ in range(count.bit_length() - 1):
        pairs = list(zip(vectors[: count // 2], vectors[count // 2 :], strict=True))
        vectors = [picked(*pair, picks) for pair in pairs for picks in (low, high)]
    while length < count:
        pairs = list(zip(vectors[::2], vectors[1::2], strict=True))
        vectors = [picked(*pair, range(2 * length)) for pair in pairs]
        length *= 2
    if length == count:
        return vectors
    parts = [range(start, start + count) for start in range(0, length, count)]
    return [picked(vector, "poison", part) for vector in vectors for part in parts]
