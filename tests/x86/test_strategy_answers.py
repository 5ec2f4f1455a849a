"""Every hand-written strategy computes what numpy computes: fallback and sampled configs, odd sizes, three ISAs."""

from __future__ import annotations

import random

import numpy as np
import pytest
from answers import expected, host, task_of, tolerance, x86_error
from isa_levels import WIDTHS

SIDES = "inputs", "outputs"
CASES = """
conv2d(1x16x7x7, 32x16x3x3, padding=1) + add(1x32x1x1:const) + add(1x32x7x7) + relu()
conv2d(1x64x14x14, 64x64x1x1)
conv2d(1x3x23x23, 32x3x7x7, strides=2, padding=3) + add(1x32x1x1:const) + relu()
conv2d(1x24x13x13, 40x24x3x3, strides=2, padding=1) + multiply(1x40x1x1:const) + add(1x40x1x1:const) + sigmoid()
conv2d(1x5x11x11, 7x5x3x3, padding=1)
conv2d(3x32x9x13, 48x32x3x3, padding=2) + add(1x48x1x1:const) + add(3x48x11x15) + relu()
conv2d(1x3x13x11, 1x3x3x3)
conv2d(1x1x1x1, 17x1x3x3, padding=1)
conv2d(1x17x5x5, 13x17x3x3, padding=1) + add(1x13x1x1:const) + tanh()
conv2d(1x32x1x17, 16x32x1x1)
conv2d(2x16x6x6, 16x16x3x3, padding=[1,0,2,1], dilation=2)
conv2d(1x16x9x7, 24x16x3x3, padding=6, dilation=6) + add(1x24x1x1:const) + relu()
conv2d(2x9x5x13, 40x9x3x5, padding=[4,6,3,7], strides=[1,2], dilation=[4,3])
conv2d(1x48x2x3, 64x24x3x3, padding=1, groups=2) + add(1x64x2x3)
conv2d(1x24x13x16, 20x24x3x3, padding=[7,9,6,8], dilation=[7,9])
conv2d(1x32x9x9, 32x1x3x3, padding=1, groups=32) + add(1x32x1x1:const) + relu()
conv2d(1x24x11x11, 24x1x5x5, strides=2, padding=2, groups=24)
conv2d(1x8x9x9, 12x2x3x3, padding=1, groups=4)
conv2d(1x48x17x5, 64x24x3x3, padding=1, groups=2) + add(1x64x1x1:const)
conv2d(1x20x5x19, 20x5x1x1, strides=2, groups=4)
conv2d(1x16x3x23, 32x16x1x1)
conv2d(1x68x7x7, 68x17x1x1, groups=4) + add(1x68x1x1:const) + relu()
conv2d(2x15x5x11, 21x15x1x1) + add(2x21x5x11) + relu()
conv2d(1x8x5x5, 112x8x1x1) + relu()
conv2d(2x24x7x9, 58x24x3x3, padding=1) + add(1x58x1x1:const)
conv2d(1x72x5x9, 72x1x3x3, padding=1, groups=72)
conv2d(2x48x3x29, 48x1x5x3, strides=[1,2], padding=[2,0,1,3], dilation=[1,2], groups=48) + clip(min=0.0, max=6.0)
conv2d(1x16x2x31, 16x1x3x3, padding=1, groups=16) + add(1x16x2x31)
conv2d(1x16x5x3, 16x1x1x1, padding=1, groups=16)
conv2d(2x29x7x33, 29x1x5x3, padding=[2,0,1,2], strides=[1,2], groups=29) + add(2x29x6x17) + relu()
max_pool2d(1x40x9x9, pool_size=3, strides=2, padding=1)
avg_pool2d(2x13x14x19, pool_size=6, strides=1, padding=2)
dense(1x37, 10x37) + add(1x10:const)
conv2d(1x24x11x11, 24x1x5x5, strides=2, padding=2, groups=24) + add(1x24x1x1:const) + silu()
conv2d(1x24x9x13, 40x24x1x1) + add(1x40x1x1:const) + silu() + add(1x40x9x13)
conv2d(1x20x13x13, 36x20x3x3, padding=1) + add(1x36x1x1:const) + mish()
dense(7x37, 100x37) + add(1x100:const) + gelu_tanh()
dense(7x64, 1000x64)
dense(5x3, 129x3) + relu()
max_pool2d(1x32x15x15, pool_size=3, strides=2, padding=1)
max_pool2d(1x5x9x9, pool_size=2, strides=2)
max_pool2d(2x32x5x37, pool_size=3, padding=1) + relu()
max_pool2d(1x24x6x31, pool_size=[5,4], strides=[1,2], padding=[3,1,0,2], ceil_mode=True)
avg_pool2d(1x48x7x29, pool_size=3, padding=1, count_include_pad=True) + relu()
avg_pool2d(1x17x4x35, pool_size=[3,5], strides=[2,1], padding=[1,2,0,4], ceil_mode=True)
avg_pool2d(2x16x8x8, pool_size=3, strides=2, padding=1)
global_avg_pool2d(1x48x7x7)
softmax(1x1000)
softmax(3x5x17)
softmax(3x5x17, axis=1)
softmax(2x1)
add(1x32x7x7, 1x32x7x7) + relu()
multiply(1x32x7x7, 1x32x1x1)
add(1x7x5x3, 1x7x5x3)
add(2x7x5x3, 1x7x1x1) + relu()
add(2x7x5x3, 2x7x5x1) + multiply(1x7x5x3)
sigmoid(3x17)
relu(1)
relu(3x17:float64)
maximum(3x17:float64, 3x1:float64) + exp()
add(2x7x5:int32, 2x7x1:int32) + relu()
multiply(3x70:int8, 1x70:int8)
matmul(2x7x5:float64, 2x5x9:float64)
cast(3x17, dtype=bool)
add(3x17:bool, 3x17:bool)
reduce_max(5x37:bool, axes=[1])
reduce_min(5x3:bool, axes=[1])
non_max_suppression(2x37x4, 2x3x37, max_boxes=9, iou_threshold=0.2, score_threshold=0.1)
clip(3x50:uint8, min=-2.5, max=2.5)
cast(5x9:int64, dtype=float32)
matmul(2x7x5, 2x5x9)
transpose(2x3x5x7, axes=[0,2,3,1])
concat(1x3x5x5, 1x7x5x5, axis=1)
concat(1x32x5x7, 1x16x5x7, 1x80x5x7, axis=1)
concat(2x32x5x7, 2x64x5x7, axis=-3)
concat(1x16x3x7, 1x16x5x7, axis=2)
concat(2x16x3x40, 2x16x3x77, axis=3)
concat(7x5, 3x5, axis=0)
concat(1x80x28x28, 1x32x28x28, axis=1)
concat(1x17x31x33, 1x3x31x33, axis=1)
concat(3x5003, 3x4001, axis=1)
where(3x17:bool, 3x1, 1x17) + relu()
where(1x1x5:bool, 2x7x1:int64, 1x7x5:int64)
less(5x37, 5x1)
less_equal(5x9:int32, 1x9:int32)
equal(3x5x9:int64, 3x1x9:int64)
logical_and(3x17:bool, 3x1:bool)
logical_not(33:bool)
round(3x17) + relu()
floor(3x17)
ceil(5x5)
sin(3x17) + multiply(3x17)
cos(3x17)
reduce_prod(5x37, axes=[1])
broadcast_to(3x1x17, shape=[2, 3, 5, 17]) + relu()
resize(1x3x5x7, shape=[1, 3, 10, 21])
resize(1x3x5x7:uint8, shape=[1, 3, 3, 16], coordinates=half_pixel, rounding=round_prefer_floor)
resize(2x3x5x7, shape=[2, 3, 10, 4], mode=linear, coordinates=half_pixel) + relu()
resize(3x17, shape=[5, 31], mode=linear, coordinates=align_corners)
resize(1x21x5x7, shape=[1, 21, 13, 11], mode=linear, coordinates=align_corners)
resize(2x32x5x3, shape=[2, 32, 10, 7], mode=linear, coordinates=half_pixel) + add(2x32x10x7) + relu()
resize(1x48x7x5:bfloat16, shape=[1, 48, 3, 11])
conv3d(1x3x4x6x5, 4x3x2x3x3, strides=[1, 2, 1], padding=[1, 0, 1, 0, 1, 1]) + relu()
conv3d(1x16x3x7x5, 32x16x3x3x3, padding=1) + add(1x32x1x1x1:const) + add(1x32x3x7x5) + relu()
conv3d(2x24x5x5x7, 13x24x3x3x3, strides=2, padding=[1,0,2,1,1,0])
conv3d(1x48x2x5x3, 64x24x2x1x3, groups=2, dilation=[1,1,2], padding=1) + tanh()
conv3d(1x32x3x5x17, 48x32x1x1x1, strides=[2,1,1])
conv2d_transpose(1x16x5x7, 32x16x2x2, strides=2)
conv2d_transpose(2x5x4x3, 7x5x3x3, strides=2, padding=1, output_padding=1) + relu()
conv2d_transpose(1x24x5x4, 48x24x4x4, strides=2, padding=1) + add(1x48x1x1:const) + add(1x48x10x8)
conv2d_transpose(1x32x5x3, 32x8x3x5, strides=[3,2], padding=[0,1,2,3], groups=4)
conv2d_transpose(1x16x3x1, 16x16x1x2, strides=3, output_padding=[4,0])
conv2d_transpose(1x17x3x13, 13x17x3x3, padding=[2,0,0,1])
layout_transform(1x32x7x7, src=NCHW, dst=NCHW16c)
layout_transform(1x32x7x7, src=NCHW16c, dst=NCHW32c)
layout_transform(1x16x7x5, src=NCHW16c, dst=NHWC)
layout_transform(1x3x5x37, src=NHWC, dst=NCHW) + relu()
layout_transform(1x32x3x20, src=NCHW, dst=NCHW16c)
layout_transform(2x24x3x19, src=NCHW8c, dst=NCHW) + add(1x24x1x1:const)
layout_transform(35x17, src=NC, dst=CN)
layout_transform(1x24x5x5, src=NCHW8c, dst=NCHW12c)
layout_transform(5x7x19, src=ABC, dst=BAC)
layout_transform(1x64x3x5, src=NCHW16c, dst=NCHW16c:bfloat16)
layout_transform(1x32x7x5, src=NCHW16c:bfloat16, dst=NCHW) + relu()
layout_transform(1x5x3x7, src=NCHW, dst=NCHW:bfloat16)
layout_transform(1x48x5x7, src=N3cCHW, dst=NCHW16c)
layout_transform(2x35x3x5, src=N5cCHW, dst=NCHW) + relu()
layout_transform(1x64x7x3, src=NCHW16c, dst=N16cCHW)
""".strip().splitlines()

MARGINS = """
layout_transform(1x5x3x7, src=NCHW, dst=NCHW16c)
layout_transform(2x7x5, src=NCW, dst=NCW2w:bfloat16)
layout_transform(3x2x7x32, src=NHCW:bfloat16, dst=NCWH64w2h:bfloat16)
layout_transform(17x33, src=NC, dst=NC16n32c:bfloat16)
""".strip().splitlines()


@pytest.mark.parametrize("isa", WIDTHS)
@pytest.mark.parametrize("text", MARGINS)
def test_the_margin_of_a_layout_is_written_with_zeros(text: str, isa: str) -> None:
    """Products read it as terms."""
    task = task_of(text, f"x86:isa={isa},threads=1")
    reference, backend = host().reference("layout_transform"), host().backend("x86")
    inputs, output = expected(task.workload)
    for strategy in host().strategies(task):
        for config in host().space(task, strategy.name).sample(random.Random(0), 3):
            (source,), (target,) = (getattr(host().layouts(task, config), side) for side in SIDES)
            wanted = reference.pack(output, target)
            kernel = backend.load(
                backend.build(host().lower(task, config), task.target), backend.probe()[0]
            )
            kernel.bind([reference.pack(inputs[0], source), np.full_like(wanted, np.nan)], {})
            kernel.launch()
            got = kernel.read(1).astype(np.float32)
            kernel.close()
            np.testing.assert_allclose(got, wanted.astype(np.float32), rtol=1e-2)


@pytest.mark.parametrize("isa", WIDTHS)
@pytest.mark.parametrize("text", CASES)
def test_every_strategy_agrees_with_the_reference(text: str, isa: str) -> None:
    task = task_of(text, f"x86:isa={isa},threads=1")
    strategies = [s for s in host().strategies(task) if s.name != "derived.x86"]
    assert strategies, "nothing with a definition fails to compile"
    for strategy in strategies:
        space = host().space(task, strategy.name)
        fallback = host().implementation(strategy.name).fallback(task)
        advised = [] if fallback is None else [fallback]
        assert all(map(space.is_valid, advised)), f"{strategy.name}: {fallback}"
        for config in [*advised, *space.sample(random.Random(0), 3)]:
            error = x86_error(task, config)
            assert error <= tolerance(task), f"{config.text}: {error} > {tolerance(task)}"


@pytest.mark.parametrize(
    "text",
    [
        "layout_transform(1x3x4x5, src=NCHW, dst=NCHW4c:bfloat16)",
        "layout_transform(5x7, src=NC, dst=NC2c:bfloat16)",
        "layout_transform(5x7, src=NC, dst=CN8c2n)",
        "layout_transform(2x5x3x17, src=NHWC, dst=NCHW8c) + relu()",
    ],
)
def test_partly_filled_blocks_end_in_zeros(text: str) -> None:
    """Products read them, and zero times NaN is none."""
    task = task_of(text, f"x86:isa={WIDTHS[0]},threads=2")
    reference, backend = host().reference("layout_transform"), host().backend("x86")
    inputs, output = expected(task.workload)
    for config in host().space(task).sample(random.Random(0), 4):
        layouts = host().layouts(task, config)
        packed = [reference.pack(a, text) for a, text in zip(inputs, layouts.inputs, strict=True)]
        wanted = reference.pack(output, layouts.outputs[0])
        artifact = backend.build(host().lower(task, config), task.target)
        kernel = backend.load(artifact, backend.probe()[0])
        kernel.bind([*packed, np.full_like(wanted, np.nan)], {})
        kernel.launch()
        got = kernel.read(len(packed))
        kernel.close()
        np.testing.assert_array_equal(got, wanted, err_msg=config.text)
