"""Random inputs of a workload, under which a wrong answer differs from the right one."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod, sqrt
from typing import TYPE_CHECKING

import numpy as np

from tilewright.vocabulary.workload import TensorSpec
from tilewright_tensor.expressions.dtype import is_float, is_unsigned, numpy_type, stored
from tilewright_tensor.operators.definition.operator_def import Operand
from tilewright_tensor.operators.trials.answer_rounding import Rounding

if TYPE_CHECKING:
    from tilewright_tensor.layouts.constant_transform import Array


def rounded_to(array: Array, precision: str) -> Array:
    """The array, where it is float32, with the digits of a float of fewer, by name."""
    if array.dtype != np.float32:
        return array
    return stored(array, precision).astype(np.float32, copy=False)


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


def random_operand(spec: TensorSpec, operand: Operand, rng: np.random.Generator) -> Array:
    """Finite values of the dtype, as `Operand.values` wants them."""
    dtype = numpy_type(spec.dtype)
    if not is_float(spec.dtype):
        low = 1 if operand.values == "positive" else 0 if is_unsigned(spec.dtype) else -7
        return rng.integers(low, 2 if spec.dtype == "bool" else 8, spec.shape).astype(dtype)
    if operand.values == "exponent":
        return rng.integers(1, 4, spec.shape).astype(dtype)
    if operand.values == "positive":
        return rng.uniform(0.5, 1.5, spec.shape).astype(dtype)
    scale = 1 / sqrt(prod(spec.shape[1:])) if operand.values == "weight" else 1.0
    return rng.uniform(-scale, scale, spec.shape).astype(dtype)


def _factors(spec: TensorSpec, operand: Operand, rng: np.random.Generator) -> Array:
    """Of either sign, where the operand may have it; none is 0."""
    dtype = numpy_type(spec.dtype)
    sizes = (
        rng.uniform(0.5, 1.5, spec.shape)
        if is_float(spec.dtype)
        else rng.choice([3, 5, 7], spec.shape)
    )
    either = operand.values != "positive" and not is_unsigned(spec.dtype)
    signs = rng.choice([-1, 1], spec.shape) if either else 1
    return (sizes * signs).astype(dtype)
