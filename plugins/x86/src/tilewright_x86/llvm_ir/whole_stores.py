"""Vectors that are stored whole where some of their lanes are what is there already."""

from __future__ import annotations

from collections.abc import Set

from tilewright_x86.llvm_ir.llvm_text import FunctionText


def whole(function: FunctionText, text: str, loads: Set[str]) -> str:
    """A vector as one that LLVM stores without a mask. `loads` are from the buffer it goes to.

    Of a choice between what was loaded there and something else LLVM makes a store of some lanes,
    which takes a dozen cycles on AMD's processors before AVX-512.
    """
    instruction = function.instruction_of(text) if loads else ""
    if not instruction.startswith("select <"):
        return text
    sides = instruction.split(", ")[1:]
    if loads.isdisjoint(side.rpartition(" ")[2] for side in sides):
        return text
    kind = sides[0][: sides[0].index(">") + 1]
    return function.define(f"freeze {kind} {text}")
