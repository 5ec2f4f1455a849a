"""Registers what tilewright-x86 offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilewright.plugins.plugin import Component, hookimpl, late

if TYPE_CHECKING:
    from tilewright.roles import TargetBackend
    from tilewright.strategies.strategy import Strategy
    from tilewright.vocabulary.target import Target
    from tilewright_tensor.ir.tensor_instruction import TensorInstruction


@hookimpl
def tilewright_targets() -> Sequence[Component[TargetBackend]]:
    """The target `x86`."""
    return [
        Component(
            name="x86",
            summary="x86 processors: isa=NAME (amx, avx512, avx2, ...), threads=N; also emulated",
            load=late("tilewright_x86.backend", "make_backend"),
            default=True,
        )
    ]


@hookimpl
def tilewright_strategies() -> Sequence[Strategy]:
    """The hand-written strategies; importing the list imports none of them."""
    from tilewright_x86.strategies import STRATEGIES

    return STRATEGIES


@hookimpl
def tilewright_resolve_target(text: str) -> Target | None:
    """`native`, and `x86:...` with ISA and threads filled in."""
    from tilewright_x86.machine.isa import resolve_target

    return resolve_target(text)


@hookimpl(optionalhook=True)
def tilewright_tensor_instructions() -> Sequence[TensorInstruction]:
    """Dot products of AVX-512 BF16 and VNNI, products of tiles of AMX."""
    from tilewright_x86.instructions import INSTRUCTIONS

    return INSTRUCTIONS
