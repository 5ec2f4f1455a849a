"""A derived Winograd transform on x86: right, and without the terms that its matrix has no use for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.space.config_space import ConfigSpace
from tilewright_tensor.expressions.expr import eq, logical_and, select
from tilewright_tensor.expressions.tensor import Axis, Tensor
from tilewright_tensor.ir.dag import Dag, compute, placeholder, reduce_axis, reduce_sum
from tilewright_tensor.ir.loop_ir import LoopProgram
from tilewright_tensor.layouts.winograd import Winograd
from tilewright_tensor.lowering.lower import lower
from tilewright_tensor.sketches.rules import derive
from tilewright_tensor.sketches.structure.sketch_input import Limits, SketchInput
from tilewright_x86.machine.isa import ISAS
from tilewright_x86.text.emit import emit

MATRIX = Winograd.of(2).data
SIZE, TILES, CHANNELS = len(MATRIX), 3, 16


def transform() -> Tensor:
    """Two sides of B^T d B."""

    def element(i: Axis, j: Axis):
        value = 0.0
        for row, numbers in enumerate(MATRIX):
            for column, number in enumerate(numbers):
                value = select(logical_and(eq(i, row), eq(j, column)), number, value)
        return value

    data = placeholder("data", (SIZE, SIZE, TILES, CHANNELS))
    matrix = compute("matrix", (SIZE, SIZE), element)
    r, s = reduce_axis(SIZE, "r"), reduce_axis(SIZE, "s")
    return compute(
        "transformed",
        data.shape,
        lambda a, b, p, c: reduce_sum(data[r, s, p, c] * matrix[a, r] * matrix[b, s], r, s),
    )


def program(lanes: int) -> LoopProgram:
    problem = SketchInput(Dag([transform()]), {}, Limits(lanes, 16, 1 << 16, 1))
    (sketch,) = derive(problem)
    config = ConfigSpace([sketch.alternative("derived")]).first()
    return lower(sketch.scheduled(config.values), "transform")


def test_a_transform_has_its_matrix_in_the_code(
    isa: str, run_x86: Callable[..., tuple[Any, ...]]
) -> None:
    data = np.random.default_rng(0).uniform(-1, 1, (SIZE, SIZE, TILES, CHANNELS))
    (found,) = run_x86(program(4), [data.astype(np.float32)], isa=isa)
    matrix = np.array(MATRIX)
    expected = np.einsum("rspc,ar,bs->abpc", data, matrix, matrix)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_terms_with_a_zero_are_not_computed() -> None:
    (isa,) = (one for one in ISAS if one.name == "avx2")
    text = "".join(emit(program(8), isa, 1).functions)
    nonzero = sum(number != 0 for row in MATRIX for number in row)
    # some are equal, and computed once
    assert 0 < text.count("call <8 x float> @llvm.fma") <= nonzero**2 < SIZE**4
