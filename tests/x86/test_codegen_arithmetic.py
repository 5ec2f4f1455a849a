"""Operations and casts of every dtype, what they do with NaN and below zero: x86 code agrees with the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from loop_notation import at, i, loop, op, put

from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Const, Op
from tilewright_tensor.ir.loop_ir import Block, LoopProgram
from tilewright_x86.machine.isa import ISAS
from tilewright_x86.text.emit import emit


def elementwise(
    name: str, dtype: str, count: int, *, kind: str = "vectorized", result: str = ""
) -> LoopProgram:
    a, b, y = (
        Buffer("a", (count,), dtype),
        Buffer("b", (count,), dtype),
        Buffer("y", (count,), result or dtype),
    )
    value = Op(name, (at(a, i("k")), at(b, i("k"))), result or dtype)
    return LoopProgram("binary", (a, b), (y,), loop("k", count, put(y, (i("k"),), value), kind))


def casts(source: str, result: str, kind: str) -> LoopProgram:
    x, y = Buffer("x", (21,), source), Buffer("y", (21,), result)
    body = put(y, (i("k"),), Op("cast", (at(x, i("k")),), result))
    return LoopProgram("cast", (x,), (y,), loop("k", 21, body, kind))


def guarded_division() -> LoopProgram:
    """An integer division that would trap on the side not taken."""
    a, b, y = (Buffer(name, (23,), "int32") for name in "aby")
    safe = op("ne", at(b, i("k")), Const(0, "int32"), dtype="bool")
    value = op("select", safe, op("div", at(a, i("k")), at(b, i("k"))), Const(-1, "int32"))
    return LoopProgram(
        "guarded_division", (a, b), (y,), loop("k", 23, put(y, (i("k"),), value), "vectorized")
    )


PROGRAMS = {
    "guarded division": guarded_division(),
    **{
        f"{name} {dtype} {kind}": elementwise(name, dtype, 35, kind=kind)
        for kind in ("vectorized", "serial")
        for dtype in ("float32", "float64", "int32", "int64", "uint8")
        for name in ("add", "sub", "mul", "max", "min")
    },
    **{
        f"div {dtype} {kind}": elementwise("div", dtype, 35, kind=kind)
        for kind in ("vectorized", "serial")
        for dtype in ("float32", "float64")
    },
    **{
        f"{name} {dtype} to bool": elementwise(name, dtype, 35, result="bool")
        for dtype in ("float32", "int32", "uint8")
        for name in ("lt", "le", "gt", "ge", "eq", "ne")
    },
    **{f"{name} bool": elementwise(name, "bool", 35) for name in ("and", "or")},
    **{
        f"cast {source} to {result} {kind}": casts(source, result, kind)
        for kind in ("vectorized", "serial")
        for source, result in (
            ("float32", "int32"), ("int32", "float32"), ("float32", "float64"), ("float64", "float32"),
            ("bool", "float32"), ("float32", "bool"), ("int8", "int32"), ("int64", "int8"),
            ("uint8", "int32"), ("uint8", "float32"), ("float32", "float16"), ("float16", "float32"),
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_code_agrees_with_the_interpreter(name: str, isa: str, agree: Callable[..., None]) -> None:
    if isa == "sse4" and "float16" in name:
        pytest.skip("no conversion of float16 on this ISA; refused, see below")
    agree(PROGRAMS[name], isa)


@pytest.mark.parametrize("dtype", ["int32", "int64", "int8"])
@pytest.mark.parametrize("name", ["div", "mod"])
@pytest.mark.parametrize("kind", ["vectorized", "serial"])
def test_integer_division_floors(
    name: str, dtype: str, kind: str, run_x86: Callable[..., Any]
) -> None:
    a = np.arange(-17, 18).astype(dtype)
    for divisor in (-5, 3):
        b = np.full(35, divisor, dtype)
        (got,) = run_x86(elementwise(name, dtype, 35, kind=kind), [a, b])
        assert got.tolist() == (a // b if name == "div" else a % b).tolist()


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("kind", ["vectorized", "serial"])
def test_extrema_return_nan_if_either_side_is_nan(
    name: str, kind: str, isa: str, run_x86: Callable[..., Any]
) -> None:
    a = np.array([np.nan, 1, np.nan, 2, -np.inf] * 7, np.float32)
    b = np.array([1, np.nan, np.nan, 3, np.inf] * 7, np.float32)
    (got,) = run_x86(elementwise(name, "float32", 35, kind=kind), [a, b], isa)
    expected = np.maximum(a, b) if name == "max" else np.minimum(a, b)
    assert np.array_equal(got, expected, equal_nan=True)


def test_relu_keeps_nan(run_x86: Callable[..., Any]) -> None:
    x, y = Buffer("x", (17,)), Buffer("y", (17,))
    value = op("max", at(x, i("k")), Const(0.0))
    program = LoopProgram("relu", (x,), (y,), loop("k", 17, put(y, (i("k"),), value), "vectorized"))
    (got,) = run_x86(program, [np.array([np.nan, -1.0, 2.0, -np.inf] * 4 + [np.nan], np.float32)])
    assert np.array_equal(got[:4], [np.nan, 0, 2, 0], equal_nan=True)


@pytest.mark.parametrize("kind", ["vectorized", "serial"])
def test_no_number_times_a_0_of_the_definition_is_no_number(
    kind: str, isa: str, run_x86: Callable[..., Any]
) -> None:
    """An attribute may be 0: only factors that are found to be 0 leave their product out."""
    x, y = Buffer("x", (17,)), Buffer("y", (17,))
    numbers = np.array([np.nan, np.inf, 2.0, -np.inf] * 4 + [0.0], np.float32)
    product = op("mul", at(x, i("k")), Const(0.0))
    for value, number in ((product, 0.0), (op("add", product, Const(1.0)), 1.0)):
        program = LoopProgram("scaled", (x,), (y,), loop("k", 17, put(y, (i("k"),), value), kind))
        (got,) = run_x86(program, [numbers], isa)
        np.testing.assert_array_equal(got, np.where(np.isfinite(numbers), number, np.nan))


def test_float16_is_refused_where_the_isa_cannot_convert_it() -> None:
    with pytest.raises(ValueError, match="avx2"):
        emit(PROGRAMS["cast float16 to float32 serial"], ISAS[-1], 1)
    x, y = Buffer("x", (21,)), Buffer("y", (21,))
    there = Op("cast", (at(x, i("k")),), "float16")
    body = put(y, (i("k"),), Op("cast", (there,), "float32"))
    with pytest.raises(ValueError, match="avx2"):
        emit(LoopProgram("cast", (x,), (y,), loop("k", 21, body, "serial")), ISAS[-1], 1)


def test_a_dtype_that_the_target_has_not_is_refused_with_those_it_has() -> None:
    strange = Buffer("x", (5,), "float8")
    with pytest.raises(ValueError, match=r"x86 has no float8; there is .*float32"):
        emit(LoopProgram("copy", (strange,), (strange,), Block(())), ISAS[0], 1)
