"""Tasks whose operands are float16 or bfloat16: sums of float32, one rounding, and what is no usual number."""

from __future__ import annotations

import random
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from answers import host, task_of
from isa_levels import ROUNDING, WIDTHS

from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.task import Task

DTYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
TARGETS = [("float16", isa) for isa in WIDTHS if isa != "sse4"]
TARGETS += [("bfloat16", isa) for isa in [*WIDTHS, *ROUNDING]]
LEAST = 2.0**-126
"""The least float32 that is no denormal: bfloat16 may lose those to its instructions."""


def configs(task: Task) -> list[ConfigEntity]:
    """Of every strategy the fallback and two others."""
    found = []
    for strategy in host().strategies(task):
        fallback = host().implementation(strategy.name).fallback(task)
        sampled = host().space(task, strategy.name).sample(random.Random(0), 2)
        found += [*([fallback] if fallback else []), *sampled]
    return found


def computed(task: Task, config: ConfigEntity, arrays: list[Any]) -> Any:
    """What the config's kernel makes of the arrays, in float32."""
    reference, backend = host().reference(task.workload.operator), host().backend("x86")
    layouts = host().layouts(task, config)
    packed = [reference.pack(a, text) for a, text in zip(arrays, layouts.inputs, strict=True)]
    ((shape, dtype),) = reference.output_shapes(task.workload)
    output = reference.pack(np.zeros(shape, DTYPES[dtype]), layouts.outputs[0])
    kernel = backend.load(
        backend.build(host().lower(task, config), task.target), backend.probe()[0]
    )
    try:
        kernel.bind([*packed, output], {})
        kernel.launch()
        got = reference.unpack(kernel.read(len(packed)), layouts.outputs[0], shape)
    finally:
        kernel.close()
    return got.astype(np.float32)


def odd_numbers(dtype: str, shape: tuple[int, ...]) -> Any:
    """Usual numbers, zeros of both signs, denormals, the largest, infinities and NaN."""
    rng, limits = np.random.default_rng(5), ml_dtypes.finfo(DTYPES[dtype])
    special = [0.0, -0.0, limits.smallest_subnormal, -3 * float(limits.smallest_subnormal)]
    special += [float(limits.max), -float(limits.max), np.inf, -np.inf, np.nan, 1.0]
    values = rng.standard_normal(shape)
    places = rng.random(shape) < 0.4
    return np.where(places, rng.choice(np.array(special, float), shape), values).astype(
        DTYPES[dtype]
    )


def without_denormals(array: Any) -> Any:
    return np.where(np.abs(array) < LEAST, 0, array)


@pytest.mark.parametrize(("dtype", "isa"), TARGETS)
@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("relu(2x16x3x7:D)", lambda x: np.maximum(x, 0)),
        ("max_pool2d(1x13x4x6:D, pool_size=2, strides=2)", None),
        ("concat(1x16x3x5:D, 1x3x3x5:D, axis=1)", None),
        ("layout_transform(1x32x3x5:D, src=NCHW, dst=NCHW16c)", lambda x: x),
        ("layout_transform(1x16x3x7:D, src=NCHW8c, dst=NCHW:float32)", lambda x: x),
        ("transpose(2x3x5x7:D, axes=[0,2,3,1])", lambda x: x.transpose(0, 2, 3, 1)),
        ("add(2x7x5x3:D, 2x7x5x3:D)", np.add),
    ],
    ids=lambda value: value.partition("(")[0] if isinstance(value, str) else "",
)
def test_what_is_no_usual_number_passes_as_in_float32(
    text: str, meaning: Any, dtype: str, isa: str
) -> None:
    task = task_of(text.replace(":D", f":{dtype}"), f"x86:isa={isa},threads=1")
    arrays = [odd_numbers(dtype, spec.shape) for spec in task.workload.inputs]
    wide = [array.astype(np.float32) for array in arrays]
    with np.errstate(all="ignore"):
        if text.startswith("max"):
            windows = wide[0].reshape(1, 13, 2, 2, 3, 2)
            expected = np.maximum.reduce(np.maximum.reduce(windows, axis=3), axis=4)
        elif text.startswith("concat"):
            expected = np.concatenate(wide, axis=1)
        else:
            expected = meaning(*wide)
        expected = expected.astype(DTYPES[dtype]).astype(np.float32)
    if dtype == "bfloat16":
        expected = without_denormals(expected)
    for config in configs(task):
        got = computed(task, config, arrays)
        got = without_denormals(got) if dtype == "bfloat16" else got
        np.testing.assert_array_equal(got, expected, config.text)


@pytest.mark.parametrize(("dtype", "isa"), TARGETS)
@pytest.mark.parametrize(
    "text",
    [
        "conv2d(1x256x3x5:D, 16x256x1x1:const:D)",
        "conv2d(1x32x5x5:D, 16x32x3x3:const:D)",
        "dense(3x256:D, 16x256:const:D)",
        "matmul(3x256:D, 256x16:D)",
        "reduce_sum(3x256:D, axes=[1])",
    ],
)
def test_sums_are_float32(text: str, dtype: str, isa: str) -> None:
    """Of 2 ** 12 and many halves: in 16 bits each half would be lost, and the range left."""
    task = task_of(text.replace(":D", f":{dtype}"), f"x86:isa={isa},threads=1")
    arrays = [np.full(spec.shape, 0.5, DTYPES[dtype]) for spec in task.workload.inputs]
    arrays[0].reshape(-1)[...] = 0.25 if len(arrays) > 1 else 0.5
    arrays[0].reshape(arrays[0].shape[0], -1)[:, 0] = 2.0**12
    wide = [array.astype(np.float64) for array in arrays]
    (expected,) = host().reference(task.workload.operator).outputs(task.workload, arrays)
    assert wide[0].max() == 2.0**12
    for config in configs(task):
        got = computed(task, config, arrays)
        np.testing.assert_array_equal(got, expected.astype(np.float32), config.text)


def test_a_sum_may_leave_the_range_of_float16_on_its_way() -> None:
    task = task_of("conv2d(1x16x3x3:float16, 16x16x1x1:const:float16)", "x86:isa=avx2,threads=1")
    data, weight = np.full((1, 16, 3, 3), 60000, np.float16), np.ones((16, 16, 1, 1), np.float16)
    weight[:, 8:] = -1
    weight[:, 15] = 0
    weight[3, 8:] = 1
    expected = np.full((1, 16, 3, 3), 60000, np.float32)
    expected[:, 3] = np.inf
    for config in configs(task):
        np.testing.assert_array_equal(computed(task, config, [data, weight]), expected)


@pytest.mark.skipif(not ROUNDING, reason="needs AVX-512 BF16")
def test_products_of_bfloat16_need_no_precision_of_the_run_and_none_are_of_float16() -> None:
    def offered(dtype: str) -> set[str]:
        text = f"conv2d(1x16x9x9:{dtype}, 16x16x3x3:const:{dtype}, padding=1)"
        return {s.name for s in host().strategies(task_of(text, "x86:isa=avx512_bf16,threads=1"))}

    assert offered("bfloat16") == offered("float16") | {"conv2d_direct_bf16.x86"}
    assert {"conv2d_direct.x86", "derived.x86"} <= offered("float16")
    assert offered("float16") == offered("float32") - {"conv2d_winograd.x86"}
