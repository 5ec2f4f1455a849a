"""The target and strategy suites over x86, odd sizes throughout."""

from __future__ import annotations

import pytest

from tilewright_graph.testing.linking import LinkContract
from tilewright_tensor.testing.tensor_instruction import TensorInstructionContract
from tilewright_testing.backend import BackendContract, RotatingBackendContract
from tilewright_testing.strategy import (
    ReproducibleStrategyContract,
    StrategyAnswersContract,
    StrategyContract,
)
from tilewright_x86.machine.isa import available

TO_BYTES = "multiply(1x33:const) + round() + clip(min=0, max=255) + cast(dtype=uint8)"
ROUNDING = any(isa.name == "avx512_bf16" for isa in available())
TASKS = (
    "conv2d(1x16x9x9, 16x16x3x3, strides=1, padding=1)",
    "conv2d(1x3x13x11, 32x3x5x5, strides=2, padding=2)",
    "conv2d(1x16x7x9, 24x16x3x3, dilation=5, padding=5)",
    "conv2d(1x32x7x7, 48x32x1x1)",
    "conv2d(1x17x5x7, 19x17x1x1)",
    "conv3d(1x16x3x5x7, 16x16x3x3x3, padding=1) + relu()",
    "conv2d_transpose(1x16x5x7, 16x16x3x3, strides=2, padding=1) + relu()",
    "dense(1x37, 11x37)",
    "dense(5x64, 32x64)",
    "conv2d(1x16x9x9, 16x16x3x3, padding=1) + add(1x16x1x1:const) + relu()",
    "conv2d(1x24x7x7, 24x1x3x3, padding=1, groups=24)",
    "max_pool2d(1x16x7x5, pool_size=3, strides=2, padding=1)",
    "resize(1x16x5x3, shape=[1, 16, 9, 7], mode=linear, coordinates=half_pixel)",
    "softmax(3x11)",
    "top_places(3x67, count=20)",
    "attention(2x3x17x13, 2x3x37x13, 2x3x37x19, 2x1x17x37, scale=0.3)",
    "transpose(2x5x3x17, axes=[0,2,1,3])",
    "concat(1x3x5x5, 1x7x5x5, axis=1)",
    "add(1x5x3x7, 1x5x3x7) + relu()",
    "layout_transform(1x5x3x2, src=NCHW, dst=NHWC)",
    "cast(1x5x3x7:uint8, dtype=int32) + cast(dtype=float32) + multiply(1x5x1x1:const)",
    "add(2x16x3x5:int8, 2x16x3x5:int8) + cast(dtype=int32)",
    "multiply(1x17x3x5:float16, 1x1x1x1:float16) + relu()",
    "conv2d(1x16x5x7, 16x16x3x3) + multiply(1x16x1x1:const) + round() + cast(dtype=int8)",
)


class TestX86Backend(BackendContract, RotatingBackendContract):
    target = "native"
    tasks = TASKS


class TestX86Networks(LinkContract):
    target = "x86:threads=2"


class TestX86Strategies(StrategyContract, StrategyAnswersContract, ReproducibleStrategyContract):
    target = "native"
    tasks = TASKS


@pytest.mark.skipif(not ROUNDING, reason="needs AVX-512 BF16")
class TestX86StrategiesInBfloat16(StrategyContract, StrategyAnswersContract):
    target = "x86:isa=avx512_bf16"
    precision = "bfloat16"
    strategies = "*_bf16.x86"
    tasks = (
        "conv3d(1x16x3x5x7, 16x16x3x3x3, padding=1) + relu()",
        "resize(1x16x5x3, shape=[1, 16, 9, 7], mode=linear, coordinates=half_pixel)",
        "conv2d(1x16x9x9, 16x16x3x3, strides=1, padding=1)",
        "conv2d(3x48x7x11, 32x48x5x5, strides=2, padding=2)",
        "conv2d(1x32x7x7, 48x32x1x1) + add(1x48x1x1:const) + relu()",
        "conv2d(1x3x13x11, 32x3x5x5, strides=2, padding=2) + relu()",
        "conv2d(2x24x7x7, 24x1x3x3, padding=1, groups=24) + add(1x24x1x1:const)",
        "conv2d(1x34x7x11, 24x34x3x3, padding=1) + add(1x24x7x11) + relu()",
        "conv2d(2x12x7x7, 15x4x1x1, groups=3) + add(2x15x7x7) + relu()",
        "dense(3x37, 11x37) + add(1x11:const)",
        "matmul(2x7x37, 2x37x19)",
        "max_pool2d(2x16x7x5, pool_size=3, strides=2, padding=1)",
        "avg_pool2d(1x24x7x7, pool_size=2)",
        "global_avg_pool2d(1x24x7x7)",
        "add(1x5x3x7, 1x5x3x7) + relu()",
        "concat(1x3x5x5, 1x7x5x5, axis=1)",
        "softmax(3x5x37)",
        "attention(2x3x17x13, 2x3x37x13, 2x3x37x19, 2x1x17x37, scale=0.3)",
        "layer_norm(3x5x37, 37, 37)",
        "transpose(2x5x3x17, axes=[0,2,1,3])",
        "layout_transform(2x3x6x16, src=NCHW, dst=NCWH16w2h:bfloat16)",
        f"conv2d(1x16x5x7, 33x16x3x3) + {TO_BYTES.replace('1x33', '1x33x1x1')}",
        f"dense(5x38, 33x38) + {TO_BYTES}",
    )


class TestX86InstructionsEmulated(TensorInstructionContract):
    """All of them as plain loops: on every machine."""

    target = "x86:emulated=yes,isa=amx,threads=1"
    device_name = "emulated"


class TestX86DotsOfBfloat16(TensorInstructionContract):
    target = "x86:isa=avx512_bf16,threads=1"
    names = "vdpbf16ps.*"


class TestX86DotsOfBytes(TensorInstructionContract):
    target = "x86:isa=avx512_vnni,threads=1"
    names = "vpdpbusd.512"


class TestX86NarrowDotsOfBytes(TensorInstructionContract):
    target = "x86:isa=avx2_vnni,threads=1"
    names = "vpdpbusd.256"


class TestX86Tiles(TensorInstructionContract):
    target = "x86:isa=amx,threads=1"
    names = "tdp*"


class TestX86StrategiesEmulated(StrategyContract, StrategyAnswersContract):
    """Tensor instructions as plain loops: on every machine."""

    target = "x86:emulated=yes,isa=amx,threads=1"
    device_name = "emulated"
    precision = "bfloat16"
    strategies = "*products_*"
    tasks = (
        "matmul(3x37x19, 3x19x35)",
        "dense(17x37, 33x37) + add(1x33:const) + relu()",
        "matmul_integer(5x67:uint8, 67x33:int8)",
        "matmul_integer(2x17x5:int8, 2x5x16:int8)",
        f"matmul_integer(5x67:uint8, 67x33:int8) + cast(dtype=float32) + {TO_BYTES}",
        f"dense(17x37, 33x37) + add(1x33:const) + {TO_BYTES}",
    )


class TestX86AttentionEmulated(StrategyContract, StrategyAnswersContract):
    """By AMX, as plain loops."""

    target = "x86:emulated=yes,isa=amx,threads=1"
    device_name = "emulated"
    precision = "bfloat16"
    strategies = "attention_in_tiles_bf16.x86"
    tasks = ("attention(2x3x17x13, 2x3x37x13, 2x3x37x19, 2x1x17x37, scale=0.3)",)


class TestX86ConvolutionsEmulated(StrategyContract, StrategyAnswersContract):
    """By AMX, as plain loops."""

    target = "x86:emulated=yes,isa=amx,threads=1"
    device_name = "emulated"
    precision = "bfloat16"
    strategies = "conv2d_tiles_bf16.x86"
    tasks = (
        "conv2d(1x64x4x19, 32x64x1x1)",
        "conv2d(2x34x7x11, 24x34x3x3, padding=1) + add(2x24x7x11)",
        "conv2d(1x3x15x17, 16x3x3x3, strides=2, padding=1) + relu()",
        "conv2d(1x32x9x19, 48x32x3x3, dilation=2)",
        "conv2d(1x64x7x7, 48x64x3x3, padding=1) + add(1x48x1x1:const) + add(1x48x7x7) + relu()",
        "conv2d(1x96x9x9, 32x96x1x1, strides=2) + add(1x1x5x1)",
        "conv2d(1x37x5x5, 24x37x5x5)",
        "conv2d(3x5x9x8, 16x5x3x5, strides=3, padding=2) + add(3x16x4x3)",
        "conv2d(1x1x12x13, 16x1x2x7, strides=[3,2], dilation=[2,1])",
        "conv2d(2x8x10x6, 32x8x3x3, padding=[0,2,1,2], dilation=2)",
        "conv2d(1x16x7x9, 16x16x3x2, strides=[2,4], dilation=[3,2], padding=2)",
        "conv2d(1x64x4x8, 64x32x1x1, groups=2) + relu()",
        "conv2d(2x96x5x7, 32x48x5x5, padding=2, groups=2) + add(1x32x1x1:const)",
        "conv2d(1x48x7x9, 96x16x3x3, strides=2, padding=1, groups=3) + add(1x96x4x5)",
        "conv2d(1x40x6x5, 64x20x3x1, groups=2, dilation=2)",
    )


class TestX86ConvolutionsOnTwoThreadsEmulated(StrategyContract, StrategyAnswersContract):
    """Whose rows do not end where the threads' parts do."""

    target = "x86:emulated=yes,isa=amx,threads=2"
    device_name = "emulated"
    precision = "bfloat16"
    strategies = "conv2d_tiles_bf16.x86"
    tasks = (
        "conv2d(3x64x7x7, 64x64x3x3, padding=1) + add(3x64x7x7)",
        "conv2d(1x3x25x25, 32x3x7x7, strides=2, padding=3)",
        "conv2d(2x64x7x7, 96x32x3x3, padding=1, groups=2) + relu()",
    )


class TestX86StrategiesOnTwoThreads(StrategyContract, StrategyAnswersContract):
    target = "x86:threads=2"
    tasks = TASKS[:2]
