"""Every strategy computes what numpy computes, under emulation: odd sizes, primes, 1, tails."""

from __future__ import annotations

import random
from typing import Any

import pytest
from answers import tolerance

CASES = """
conv2d(1x16x7x7, 32x16x3x3, padding=1) + add(1x32x1x1:const) + add(1x32x7x7) + relu()
conv2d(1x3x23x23, 32x3x7x7, strides=2, padding=3) + add(1x32x1x1:const) + relu()
conv2d(2x17x5x11, 13x17x3x3, padding=[1,0,2,1]) + add(1x13x1x1:const) + tanh()
conv2d(2x16x6x6, 20x16x3x3, padding=[1,0,2,1], dilation=2)
conv2d(1x20x5x19, 24x20x1x1, strides=2)
conv2d(1x1x1x1, 1x1x1x1)
conv2d(1x32x9x9, 32x1x3x3, padding=1, groups=32) + add(1x32x1x1:const) + relu()
conv2d(1x23x11x13, 23x1x5x5, strides=2, padding=2, groups=23)
conv2d(1x23x7x9, 23x1x3x3, padding=1, groups=23) + add(1x23x1x1:const) + silu()
conv2d(1x17x5x9, 24x17x1x1) + add(1x24x1x1:const) + mish()
conv2d(1x8x9x9, 12x2x3x3, padding=1, groups=4)
dense(7x37, 29x37) + add(1x29:const) + gelu_tanh()
dense(1x37, 10x37) + add(1x10:const)
dense(7x64, 129x64) + relu()
dense(67x31, 35x31)
matmul(2x3x7x5, 3x5x9)
matmul(2x19x24, 2x24x36)
max_pool2d(1x32x15x15, pool_size=3, strides=2, padding=1)
max_pool2d(1x5x9x9, pool_size=2, strides=2) + relu()
avg_pool2d(2x16x8x8, pool_size=3, strides=2, padding=1)
global_avg_pool2d(2x48x7x7) + relu()
reduce_sum(3x5x17, axes=[2])
reduce_mean(3x5x17, axes=[0,2], keepdims=False) + relu()
reduce_max(37x300, axes=[1])
reduce_sum(17)
reduce_sum(3x50, axes=[0,1], keepdims=False)
reduce_max(37x30, keepdims=False) + relu()
softmax(3x5x17, axis=1)
softmax(37x300) + relu()
softmax(2x1)
take(5x37, 13x3:int64, axis=1)
take(19x20, 7:int8) + relu()
non_max_suppression(2x37x4, 2x3x37, max_boxes=9, iou_threshold=0.2, score_threshold=0.1)
slice(5x9, begin=[3, 8], end=[-6, 0], strides=[-1, -3])
add(1x32x7x7, 1x32x7x7) + relu()
multiply(2x7x5x3, 2x7x5x1) + add(1x7x5x3)
sigmoid(1)
relu(3x17:float64)
add(2x7x5:int32, 2x7x1:int32) + relu()
cast(3x17, dtype=bool)
transpose(2x3x5x7, axes=[0,2,3,1])
concat(1x3x5x5, 1x7x5x5, axis=1)
conv3d(1x3x4x6x5, 4x3x2x3x3, padding=1) + relu()
conv2d_transpose(2x7x5x4, 17x7x3x3, strides=2, padding=1, output_padding=1) + add(1x17x1x1:const) + relu()
conv2d_transpose(1x6x5x3, 4x3x3x5, strides=[3,2], padding=[0,1,2,3], groups=2)
where(3x17:bool, 3x1, 1x17) + relu()
equal(3x17:int64, 1x17:int64)
less(3x17, 3x1)
logical_not(33:bool)
round(3x17)
sin(3x17)
reduce_prod(5x37, axes=[1])
broadcast_to(3x1x17, shape=[2, 3, 5, 17])
resize(1x3x5x7, shape=[1, 3, 10, 16], coordinates=half_pixel, rounding=round_prefer_ceil)
resize(2x3x5x7, shape=[2, 3, 10, 4], mode=linear, coordinates=half_pixel)
layer_norm(3x5x17, 17, 17)
layout_transform(2x37x5x9, src=NCHW, dst=NHWC)
layout_transform(1x64x3x20, src=NHWC, dst=NCHW) + relu()
layout_transform(1x32x7x7, src=NCHW, dst=NCHW16c)
""".strip().splitlines()


@pytest.mark.parametrize("text", CASES)
def test_every_strategy_agrees_with_the_reference_under_emulation(text: str, emulated: Any) -> None:
    task, host = emulated.task(text), emulated.host
    strategies = host.strategies(task)
    assert strategies, "nothing with a definition fails to compile"
    for strategy in strategies:
        space = host.space(task, strategy.name)
        fallback = host.implementation(strategy.name).fallback(task)
        assert fallback is None or space.is_valid(fallback), f"{strategy.name}: {fallback.text}"
        sampled = space.sample(random.Random(text), 2)
        for config in dict.fromkeys([*([fallback] if fallback else []), *sampled]):
            error, allowed = emulated.relative_error(task, config), tolerance(task)
            assert error <= allowed, f"{config.text}: {error} > {allowed}"
