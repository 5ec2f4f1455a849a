"""Registers what tilewright-cuda offers."""

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
    """The target `cuda`."""
    return [
        Component(
            name="cuda",
            summary="NVIDIA GPUs: arch=sm_70 to sm_120; also emulated on the processor",
            load=late("tilewright_cuda.backend", "make_backend"),
        )
    ]


@hookimpl
def tilewright_strategies() -> Sequence[Strategy]:
    """The hand-written strategies; importing the list imports none of them."""
    from tilewright_cuda.strategies import STRATEGIES

    return STRATEGIES


@hookimpl
def tilewright_resolve_target(text: str) -> Target | None:
    """`cuda`, `cuda:auto` and `cuda:arch=...` with the architecture checked or filled in."""
    from tilewright_cuda.device.target_text import resolve_target

    return resolve_target(text)


@hookimpl(optionalhook=True)
def tilewright_tensor_instructions() -> Sequence[TensorInstruction]:
    """Products of tensor cores."""
    from tilewright_cuda.instructions import INSTRUCTIONS

    return INSTRUCTIONS
