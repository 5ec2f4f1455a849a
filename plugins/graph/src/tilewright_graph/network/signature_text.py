"""What a network takes and gives, on one line."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from tilewright.terminal_text import brief
from tilewright.vocabulary.workload import TensorSpec

_SHOWN = 3


def signature_text(
    name: str, inputs: Mapping[str, TensorSpec], outputs: Mapping[str, TensorSpec]
) -> str:
    """As in `resnet50: data float32[1, 3, 224, 224] -> prob float32[1, 1000]`."""
    return f"{brief(name)}: {tensors_text(inputs)} -> {tensors_text(outputs)}"


def tensors_text(specs: Mapping[str, TensorSpec]) -> str:
    """The first few tensors, and how many more there are."""
    shown = [
        f"{brief(name, 30)} {brief(str(spec))}" for name, spec in islice(specs.items(), _SHOWN)
    ]
    more = len(specs) - _SHOWN
    return ", ".join([*shown, *([f"{more} more"] if more > 0 else [])]) or "nothing"
