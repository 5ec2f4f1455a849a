"""Random data for an operand of an operator."""

from __future__ import annotations

from math import prod, sqrt

import numpy as np

from tilewright.vocabulary.workload import TensorSpec
from tilewright_tensor.evaluation.numpy_value import Array
from tilewright_tensor.operators.operator_def import Operand


def random_operand(spec: TensorSpec, operand: Operand, rng: np.random.Generator) -> Array:
    """Finite values of the dtype, as `Operand.values` wants them."""
    dtype = np.dtype(spec.dtype)
    if dtype.kind != "f":
        low = 1 if operand.values == "positive" else 0 if dtype.kind in "ub" else -7
        return rng.integers(low, 2 if dtype.kind == "b" else 8, spec.shape).astype(dtype)
    if operand.values == "exponent":
        return rng.integers(1, 4, spec.shape).astype(dtype)
    if operand.values == "positive":
        return rng.uniform(0.5, 1.5, spec.shape).astype(dtype)
    scale = 1 / sqrt(prod(spec.shape[1:])) if operand.values == "weight" else 1.0
    return rng.uniform(-scale, scale, spec.shape).astype(dtype)
