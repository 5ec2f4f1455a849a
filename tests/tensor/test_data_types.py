"""Data types: what their floats round to, which has every value of another."""

from __future__ import annotations

from itertools import product

import ml_dtypes
import numpy as np
import pytest

from tilewright.errors import UsageError
from tilewright_tensor.evaluation.interpret import interpret
from tilewright_tensor.expressions.affine import Var, index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.dtype import DATA_TYPES, DTYPES, stored, widens
from tilewright_tensor.expressions.expr import Load, cast
from tilewright_tensor.ir.loop_ir import Loop, LoopProgram, Store
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.operators.operators import builtin_operators
from tilewright_tensor.operators.text_form import parse_workload

FLOATS = [name for name, one in DATA_TYPES.items() if one.kind == "float"]
SMALLEST, GREATEST = 2.0**-126, (2 - 2.0**-23) * 2.0**127


def _many() -> np.ndarray:
    """Finite float32 of every size, those that lie halfway between tf32, and their neighbours."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 0x7F80_0000, 2000, dtype=np.uint32)
    halfway = bits & np.uint32(0xFFFF_E000) | np.uint32(0x1000)
    near = np.concatenate([bits, halfway, halfway + 1, halfway - 1]).view(np.float32)
    return np.concatenate([near, -near, [0, SMALLEST, 1e-42, GREATEST]]).astype(np.float32)


def test_tf32_is_float32_to_ten_binary_places() -> None:
    values = _many()
    got = stored(values, "tf32")
    steps = np.ldexp(1.0, np.maximum(np.frexp(values)[1], -125) - 11)  # denormals are as far apart
    wide = values.astype(np.float64)
    with np.errstate(over="ignore"):
        expected = (np.rint(wide / steps) * steps).astype(np.float32)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(stored(got, "tf32"), got)


def test_tf32_keeps_infinities_and_nan_and_the_sign_of_zero() -> None:
    payload = np.array([0x7F80_0001, 0xFFFF_FFFF], np.uint32).view(np.float32)
    given = np.array([np.inf, -np.inf, np.nan, *payload, -0.0, GREATEST], np.float32)
    got = stored(given, "tf32")
    np.testing.assert_array_equal(got[:2], [np.inf, -np.inf])
    assert np.isnan(got[2:5]).all()
    assert np.signbit(got[5])
    assert got[6] == np.inf


@pytest.mark.parametrize("layout", ["BA", "BA:tf32", "AB4b:bfloat16", "AB2a:float16"])
def test_a_format_holds_values_as_its_data_type_has_them(layout: str) -> None:
    array = np.random.default_rng(0).standard_normal((6, 8), np.float32)
    form = Layout.parse(layout)
    packed = form.pack(array)
    kinds = {"": np.float32, "tf32": np.float32, "bfloat16": ml_dtypes.bfloat16}
    assert packed.dtype == kinds.get(form.dtype, np.float16)
    assert packed.flags["C_CONTIGUOUS"]
    back = form.unpack(packed, array.shape, "float32")
    np.testing.assert_array_equal(back, stored(array, form.dtype or "float32").astype(np.float32))


def test_a_wider_float_has_every_value_of_another() -> None:
    wider = {(one, other) for one, other in product(FLOATS, FLOATS) if widens(one, other)}
    assert wider == {
        ("bfloat16", "tf32"), ("bfloat16", "float32"), ("bfloat16", "float64"),
        ("float16", "tf32"), ("float16", "float32"), ("float16", "float64"),
        ("tf32", "float32"), ("tf32", "float64"), ("float32", "float64"),
    }  # fmt: skip


def test_no_tensor_of_a_network_is_of_tf32() -> None:
    assert set(DATA_TYPES) - set(DTYPES) == {"tf32"}
    with pytest.raises(UsageError, match="expected const, activation or a dtype, got 'tf32'"):
        parse_workload(builtin_operators(), "relu(3x5:tf32)", "task")


def test_the_interpreter_rounds_where_a_program_casts() -> None:
    place = (index(Var("i")),)
    values = _many()
    given, made = Buffer("x", values.shape, "float32"), Buffer("y", values.shape, "tf32")
    body = Loop(
        Var("i"), values.size, "serial", Store(made, place, cast(Load(given, place), "tf32"))
    )
    (got,) = interpret(LoopProgram("round", (given,), (made,), body), [values])
    np.testing.assert_array_equal(got, stored(values, "tf32"))
