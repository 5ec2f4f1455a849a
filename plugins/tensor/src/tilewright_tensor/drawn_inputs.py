"""Random inputs of a workload, under which a wrong answer differs from the right one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tilewright.vocabulary.workload import TensorSpec
from tilewright_tensor.answer_rounding import Rounding
from tilewright_tensor.operators.operator_def import Operand
from tilewright_tensor.operators.trials.random_operand import random_operand

if TYPE_CHECKING:
    from tilewright_tensor.layouts.layout import Array


def draw_inputs(
    specs: Sequence[TensorSpec],
    operands: Sequence[Operand],
    rounding: Rounding,
    seed: Sequence[int],
) -> list[Array]:
    """One array an operand, as `Operand.values` wants them, thinned as `rounding` says."""
    made = []
    for position, (spec, operand) in enumerate(zip(specs, operands, strict=True)):
        rng = np.random.default_rng((seed[0], position, *seed[1:]))
        if position in rounding.multiplied:
            array = _factors(spec, operand, rng)
        else:
            array = random_operand(spec, operand, rng)
            if operand.values == "weight" and position in rounding.thinned:
                array = (array / rounding.share ** (len(rounding.thinned) / 2)).astype(array.dtype)
        if position in rounding.thinned:
            left = rng.random(spec.shape) < rounding.share
            rest = np.sign(array) if position in rounding.multiplied else np.zeros_like(array)
            array = np.where(left, array, rest).astype(array.dtype)
        made.append(array)
    return made


def _factors(spec: TensorSpec, operand: Operand, rng: np.random.Generator) -> Array:
    """Of either sign, where the operand may have it; none is 0."""
    dtype = np.dtype(spec.dtype)
    sizes = (
        rng.uniform(0.5, 1.5, spec.shape)
        if dtype.kind == "f"
        else rng.choice([3, 5, 7], spec.shape)
    )
    either = operand.values != "positive" and dtype.kind != "u"
    signs = rng.choice([-1, 1], spec.shape) if either else 1
    return (sizes * signs).astype(dtype)
