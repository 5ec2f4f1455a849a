"""What element-wise operators give, by numpy in float64, written apart from their expressions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tilewright_tensor.layouts.constant_transform import Array

_erf_objects = np.frompyfunc(math.erf, 1, 1)


def _erf(x: Array) -> Array:
    return np.asarray(_erf_objects(x), np.float64)


def _divide(x: Array, y: Array) -> Array:
    if x.dtype.kind == "f":
        return np.asarray(np.divide(x, y))
    return np.asarray(np.where(y == 0, 0, (x - np.fmod(x, y)) // np.where(y == 0, 1, y)), x.dtype)


def _clip(x: Array, **bounds: float | None) -> Array:
    low, high = bounds["min"], bounds["max"]
    low, high = -math.inf if low is None else low, math.inf if high is None else high
    if x.dtype.kind != "f":
        least, greatest = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
        low = least if low <= least else min(math.ceil(low), greatest)
        high = greatest if high >= greatest else max(math.floor(high), least)
    return np.asarray(np.clip(x, low, high))


def _sigmoid(x: Array) -> Array:
    return np.asarray(np.exp(-np.logaddexp(0.0, -x)))


ELEMENTWISE: Mapping[str, Callable[..., Any]] = {
    "identity": np.array,
    "relu": lambda x: np.maximum(x, 0),
    "neg": np.negative,
    "sign": np.sign,
    "abs": np.abs,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.round,
    "tanh": np.tanh,
    "erf": _erf,
    "sigmoid": _sigmoid,
    "silu": lambda x: x * _sigmoid(x),
    "mish": lambda x: x * np.tanh(np.logaddexp(x, 0.0)),
    "gelu_tanh": lambda x: x * _sigmoid(math.sqrt(8.0 / math.pi) * (x + 0.044715 * x**3)),
    "gelu": lambda x: 0.5 * x * (1.0 + _erf(x / math.sqrt(2.0))),
    "softplus": lambda x: np.logaddexp(x, 0.0),
    "hard_swish": lambda x: x * np.clip(x / 6.0 + 0.5, 0.0, 1.0),
    "clip": _clip,
    "leaky_relu": lambda x, alpha: np.where(x < 0.0, alpha * x, x),
    "elu": lambda x, alpha: np.where(x < 0.0, alpha * np.expm1(np.minimum(x, 0.0)), x),
    "hard_sigmoid": lambda x, alpha, beta: np.clip(alpha * x + beta, 0.0, 1.0),
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": _divide,
    "modulo": np.mod,
    "remainder": np.fmod,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "bitwise_not": np.invert,
    "shift_left": np.left_shift,
    "shift_right": np.right_shift,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "power": np.power,
    "prelu": lambda x, slope: np.where(x < 0.0, slope * x, x),
    "logical_not": np.logical_not,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "equal": np.equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "where": np.where,
}
"""By operator; of the operands in order, and the attributes by name."""
