"""Every derived sketch computes what numpy computes, at sampled points, where tiles do not divide too."""

from __future__ import annotations

import random

import pytest
from answers import host, task_of, tolerance, x86_error
from isa_levels import WIDTHS

from tilewright_tensor.ir.loop_ir import buffers

CASES = """
matmul(7x13, 13x17) + relu()
matmul(64x96, 96x80)
matmul(17x13, 13x19) + tanh() + multiply(17x19)
matmul(33x1, 1x31)
matmul(1x512, 512x1)
matmul(3x512, 512x1)
matmul(90000x3, 3x17)
matmul(270000x1, 1x2)
matmul(1x270000, 270000x2)
matmul(3x17x19, 3x19x23)
matmul(2x1x5x7, 3x7x18) + add(2x3x5x18)
dense(7x64, 100x64) + add(1x100:const)
dense(5x13, 17x13:activation)
dense(1x37, 10x37)
conv2d(1x17x13x13, 13x17x3x3, padding=1) + add(1x13x1x1:const) + tanh()
conv2d(1x32x7x7, 48x32x3x3, padding=1) + add(1x48x1x1:const) + add(1x48x7x7) + relu()
conv2d(1x16x5x5, 16x16x3x3, padding=1) + sigmoid() + add(1x16x1x1:const) + tanh()
conv2d(1x3x17x17, 32x3x5x5, strides=2, padding=2)
conv2d(2x16x6x6, 16x16x3x3, padding=[1,0,2,1], dilation=2)
conv2d(1x8x9x9, 12x2x3x3, padding=1, groups=4)
conv2d(1x24x7x7, 40x24x1x1, strides=2)
conv2d(1x32x9x9, 32x1x3x3, padding=1, groups=32) + add(1x32x1x1:const) + relu()
conv2d(1x5x13x13, 5x1x3x3, strides=2, padding=1, groups=5)
conv1d(1x7x17, 13x7x3, padding=1)
conv1d(2x8x40, 16x8x5, strides=2, padding=2, dilation=2) + relu()
conv3d(1x7x5x9x6, 13x7x3x3x2, strides=[1, 2, 1], padding=1) + relu()
resize(1x16x9x7, shape=[1, 16, 18, 14])
resize(1x5x9x7, shape=[1, 5, 13, 20], mode=linear, coordinates=half_pixel) + relu()
broadcast_to(17x1x5, shape=[3, 17, 4, 5])
less(17x33, 17x1)
max_pool2d(1x32x13x13, pool_size=3, strides=2, padding=1)
max_pool2d(1x5x7x7, pool_size=2, strides=2)
avg_pool2d(1x16x7x7, pool_size=3, strides=2, padding=1)
global_avg_pool2d(1x48x7x7)
softmax(7x1000)
softmax(3x5x17, axis=1)
softmax(2x1)
layer_norm(13x100, 100, 100)
layer_norm(2x7x17, 17, 17)
layer_norm(2x7x17, 7, 7, axis=1)
lrn(1x7x5x5, size=3)
reduce_sum(7x1000, axes=[1])
reduce_max(7x13x17, axes=[1])
reduce_mean(5x1000)
transpose(2x3x5x7, axes=[0,2,3,1])
concat(1x3x5x5, 1x7x5x5, axis=1)
add(1x32x7x7, 1x32x7x7) + relu()
sigmoid(1)
matmul(17x13:float64, 13x19:float64) + tanh()
conv2d(1x17x9x9:float64, 13x17x3x3:const:float64, padding=1) + add(1x13x1x1:const:float64)
softmax(3x5x17:float64, axis=1)
matmul(17x13:float16, 13x19:float16) + tanh()
conv2d(1x17x9x9:float16, 13x17x3x3:const:float16, padding=1) + add(1x13x1x1:const:float16) + relu()
softmax(3x5x17:float16)
layer_norm(7x33:float16, 33:float16, 33:float16)
""".strip().splitlines()
POINTS = 2


@pytest.mark.parametrize("text", CASES)
def test_every_sketch_agrees_with_the_reference(text: str) -> None:
    number = CASES.index(text)
    isas = {WIDTHS[0], WIDTHS[number % len(WIDTHS)]}
    isas -= {"sse4"} if "float16" in text else set()  # no conversions of them there
    for task in [task_of(text, f"x86:isa={isa},threads=1") for isa in isas]:
        space = host().space(task, "derived.x86/*")
        assert space.alternatives
        for alternative in space.alternatives:
            points = host().space(task, alternative.name).sample(random.Random(number), POINTS)
            assert points, f"{alternative.name} has no feasible point"
            for config in points:
                error = x86_error(task, config)
                assert error <= tolerance(task), f"{config.text}: {error} > {tolerance(task)}"


def test_two_threads_agree_with_the_reference() -> None:
    for text in (
        "matmul(64x96, 96x80)",
        "dense(1x64, 100x64) + add(1x100:const)",
        "dense(3x37, 1000x37) + relu()",
        "softmax(1x1000)",
        "max_pool2d(1x5x7x7, pool_size=2)",
    ):
        task = task_of(text, f"x86:isa={WIDTHS[0]},threads=2")
        for config in (
            host().space(task, "derived.x86/*").sample(random.Random(1), 6, balanced=True)
        ):
            assert x86_error(task, config) <= tolerance(task), config.text


@pytest.mark.parametrize(
    "text",
    [
        "conv2d(1x64x128x128, 3x64x5x5, padding=2)",
        "conv2d(1x64x96x96, 8x64x3x3, padding=2, dilation=2, strides=2)",
        "conv2d(1x128x56x56, 128x4x3x3, padding=1, groups=32)",
        "conv2d_transpose(1x64x64x64, 3x64x4x4, strides=2, padding=1)",
        "conv3d(1x32x17x17x17, 3x32x3x3x3, padding=1)",
    ],
)
def test_padded_copies_for_a_tile_fit_into_the_cache_and_may_fill_it(text: str) -> None:
    task = task_of(text, "x86:isa=avx512,threads=1")
    sampled = host().space(task, "derived.x86/fused-2").sample(random.Random(0), 120)
    sizes = [
        buffer.size * buffer.item_bytes
        for config in sampled
        if config["pad.at"] == "tile" and "c" not in config["layouts"][0]  # blocks are filled up
        for buffer in buffers(host().lower(task, config))
        if buffer.name.startswith("pad")
    ]
    assert 32 * 1024 < max(sizes) <= 1.25 * 512 * 1024  # rows are filled up as well
