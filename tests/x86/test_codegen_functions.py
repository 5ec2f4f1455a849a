"""Functions of one float32: errors against float64, over the whole range."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tilewright_tensor.expressions.affine import Var, index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Load, Op
from tilewright_tensor.ir.loop_ir import Loop, LoopProgram, Store


def _unary(name: str, count: int, dtype: str = "float32", kind: Any = "vectorized") -> LoopProgram:
    x, y, i = Buffer("x", (count,), dtype), Buffer("y", (count,), dtype), Var("i")
    body = Store(y, (index(i),), Op(name, (Load(x, (index(i),)),), dtype))
    return LoopProgram("unary", (x,), (y,), Loop(i, count, kind, body))


def _all_magnitudes() -> Any:
    """Float32 of both signs, their bits evenly spread: denormals, zeros, infinities, NaN and all between.

    More of them lie where exponentials begin and cease to be numbers.
    """
    bits = np.linspace(0, 0x7FC00000, 30_011).astype(np.uint32)
    edges = np.array(
        [0, 1, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x7FFFFFFF], np.uint32
    )
    positive = np.concatenate([bits, edges]).view(np.float32)
    near = np.linspace(-110, 110, 40_003, dtype=np.float32)
    ends = np.linspace(86.8, 88.9, 4_001, dtype=np.float32)
    return np.concatenate([positive, -positive, near, near / 30, ends, -ends])


_EXACT: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log1p": np.log1p,
    "log": np.log,
    "tanh": np.tanh,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "sin": np.sin,
    "cos": np.cos,
}
_ULPS = {
    "exp": 1.0,
    "expm1": 4.0,
    "log1p": 4.0,
    "log": 1.5,
    "tanh": 3.0,
    "erf": 5.5,
    "sin": 1.0,
    "cos": 1.0,
}
_ULPS_UNFUSED = {**_ULPS, "exp": 1.2, "erf": 7.0}


@pytest.mark.parametrize("name", list(_EXACT))
def test_float32_function_stays_within_its_stated_error(
    name: str, isa: str, run_x86: Callable[..., Any]
) -> None:
    x = _all_magnitudes()
    with np.errstate(all="ignore"):
        exact = _EXACT[name](x.astype(np.float64))
        if name == "exp":  # slow to make, and slow for whoever reads them
            exact[exact < np.finfo(np.float32).tiny] = 0
        expected = exact.astype(np.float32)
    (got,) = run_x86(_unary(name, x.size), [x], isa)
    special = ~np.isfinite(expected)
    assert np.array_equal(got[special], expected[special], equal_nan=True)
    with np.errstate(all="ignore"):
        ulps = np.abs(got - exact)[~special] / np.spacing(np.abs(expected[~special]))
    most = (_ULPS_UNFUSED if isa == "sse4" else _ULPS)[name]
    assert ulps.max() <= most, x[~special][ulps.argmax()]


@pytest.mark.parametrize(
    "name", ["exp", "expm1", "log", "log1p", "tanh", "erf", "sqrt", "floor", "ceil", "round"]
)
def test_scalar_code_gives_the_same_as_vector_code(name: str, run_x86: Callable[..., Any]) -> None:
    x = np.abs(_all_magnitudes()[::37])
    (vector,) = run_x86(_unary(name, x.size), [x])
    (scalar,) = run_x86(_unary(name, x.size, kind="serial"), [x])
    assert np.array_equal(vector, scalar, equal_nan=True)


@pytest.mark.parametrize("name", ["exp", "expm1", "log", "log1p", "tanh", "erf", "sqrt", "sin"])
def test_float64_functions_agree_with_libm(name: str, run_x86: Callable[..., Any]) -> None:
    x = np.linspace(0.01, 9, 101)
    exact = np.sqrt(x) if name == "sqrt" else _EXACT[name](x)
    (got,) = run_x86(_unary(name, x.size, "float64"), [x])
    np.testing.assert_allclose(got, exact, rtol=1e-15)


def test_round_goes_to_even(run_x86: Callable[..., Any]) -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5], np.float32)
    (got,) = run_x86(_unary("round", 5), [x])
    assert got.tolist() == [0, 2, 2, 0, -2]
