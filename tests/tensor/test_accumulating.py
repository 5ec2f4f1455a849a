"""Floats of 16 bits are computed and added up in float32, and rounded where they are stored."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tilewright.vocabulary.workload import EpilogueOp, TensorSpec
from tilewright_tensor.evaluation.interpret import interpret
from tilewright_tensor.expressions.expr import cast
from tilewright_tensor.ir.accumulating import accumulating
from tilewright_tensor.ir.dag import Dag, compute, placeholder, reduce_axis, reduce_sum
from tilewright_tensor.lowering.lower import lower
from tilewright_tensor.operators.operators import builtin_operators
from tilewright_tensor.schedule.schedule import Schedule

DTYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def dag_of(operator, *specs, epilogue=(), **attributes):
    operators = builtin_operators()
    inputs = [TensorSpec(shape, dtype) for shape, dtype in specs]
    return operators.compute_dag(operators.workload(operator, inputs, attributes, epilogue))


def dtypes(dag):
    return [(tensor.name, tensor.dtype) for tensor in dag.tensors]


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_are_float32_and_a_last_stage_is_rounded(dtype):
    dag = dag_of("dense", ((3, 5), dtype), ((7, 5), dtype))
    names = ["data", "weight", "dense", "stored"]
    assert dtypes(dag) == [(name, "float32") for name in names]
    assert str(dag) == str(dag_of("dense", ((3, 5), "float32"), ((7, 5), "float32"))) + (
        "\nstored(n, o) = dense[n, o]"
    )


def test_other_dtypes_are_computed_in_themselves():
    for dtype in ("float32", "float64", "int8"):
        assert {one for _, one in dtypes(dag_of("add", ((3,), dtype), ((3,), dtype)))} == {dtype}


def test_what_a_definition_casts_to_16_bits_is_rounded_there():
    x, y = placeholder("x", (2, 40), "float16"), placeholder("y", (2, 40), "float16")
    k = reduce_axis(40, "k")
    halves = compute("halves", (2, 40), lambda i, j: cast(cast(x[i, j], "float32") / 3, "float16"))
    total = compute("total", (2,), lambda i: reduce_sum(halves[i, k] * y[i, k], k))
    dag = accumulating(Dag([total], [x, y]))
    assert [one for _, one in dtypes(dag)] == [
        "float32",
        "float32",
        "float16",
        "float32",
        "float32",
    ]
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-20, 20, (2, 40)).astype(np.float32) for _ in range(2)]
    (found,) = interpret(lower(Schedule.of(dag), "kernel"), arrays)
    rounded = (arrays[0] / 3).astype(np.float16).astype(np.float32)
    np.testing.assert_allclose(found, (rounded * arrays[1]).sum(1), rtol=1e-6)


def test_an_epilogue_goes_on_in_float32_behind_a_cast_to_16_bits():
    steps = [EpilogueOp("add", {}, (1,), 0)]
    dag = dag_of("cast", ((3, 7), "float32"), ((1, 7), "float16"), epilogue=steps, dtype="float16")
    assert dict(dtypes(dag))["cast"] == "float16"
    assert dag.outputs[0].dtype == "float32"


def test_a_number_of_places_is_no_float_of_16_bits():
    """257 is none in bfloat16: a mean over so many is divided by it all the same."""
    dag = dag_of(
        "avg_pool2d", ((1, 1, 1, 300), "bfloat16"), pool_size=[1, 257], padding=[0, 9, 0, 9]
    )
    assert "bfloat16" not in str(dag)
