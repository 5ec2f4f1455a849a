"""The target and strategy suites over CUDA: emulated, and on a GPU where there is one."""

from __future__ import annotations

from tilewright_graph.testing.linking import LinkContract
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.testing.tensor_instruction import TensorInstructionContract
from tilewright_testing.backend import BackendContract, RotatingBackendContract
from tilewright_testing.strategy import (
    ReproducibleStrategyContract,
    StrategyAnswersContract,
    StrategyContract,
)

TASKS = (
    "conv2d(1x16x9x9, 16x16x3x3, strides=1, padding=1)",
    "conv2d(1x3x13x11, 32x3x5x5, strides=2, padding=2)",
    "conv2d_transpose(2x7x5x3, 16x7x3x3, strides=2, padding=1, output_padding=1)",
    "dense(1x37, 11x37)",
    "dense(5x64, 32x64)",
    "conv2d(1x24x7x7, 24x1x3x3, padding=1, groups=24)",
    "max_pool2d(1x16x7x5, pool_size=3, strides=2, padding=1)",
    "softmax(3x11)",
    "reduce_sum(3x5x17, axes=[2])",
    "add(1x5x3x7, 1x5x3x7) + relu()",
    "layout_transform(1x5x3x2, src=NCHW, dst=NHWC)",
    "dense(5x37, 11x37) + multiply(1x11:const) + round() + clip(min=0, max=255) + cast(dtype=uint8)",
)
TARGET = "cuda:arch=sm_90"


class TestCudaOnGpu(BackendContract, RotatingBackendContract):
    target = TARGET
    tasks = TASKS
    device_name = "gpu0"


class TestCudaEmulated(BackendContract):
    """Without rotation: what is emulated has no cache, so that one copy of each operand will do."""

    target = TARGET
    tasks = TASKS
    device_name = "emulated"


class TestCudaNetworksOnGpu(LinkContract):
    target = TARGET
    device_name = "gpu0"


class TestCudaNetworksEmulated(LinkContract):
    target = TARGET
    device_name = "emulated"


class TensorCores(StrategyContract, StrategyAnswersContract):
    """Odd sizes, depths that no instruction divides, batches."""

    target = TARGET
    device_name = "emulated"
    samples = 1
    tasks = (
        "dense(33x41, 19x41) + add(1x19:const) + relu()",
        "matmul(3x17x24, 1x24x40)",
        "matmul(1x1, 1x1)",
    )


class TestCudaStrategiesInTf32(TensorCores):
    precision, strategies = "tf32", "gemm_mma_tf32.cuda"


class TestCudaStrategiesInBfloat16(TensorCores):
    precision, strategies = "bfloat16", "gemm_mma_bf16.cuda"


class TestCudaStrategiesInFloat16(TensorCores):
    precision, strategies = "float16", "gemm_mma_f16.cuda"


class TestCudaStrategiesOfBytes(TensorCores):
    strategies = "gemm_mma_integer.cuda"
    tasks = (
        "matmul_integer(33x41:uint8, 41x19:int8)",
        "matmul_integer(2x17x5:int8, 1x5x7:uint8)",
        "matmul_integer(1x1:int8, 1x1:int8)",
    )


class CudaInstructions(TensorInstructionContract):
    target = TARGET

    def placed(self, schedule: Schedule) -> Schedule:
        """A warp shares the elements of the result."""
        result = schedule.dag.outputs[0]
        _, elements = schedule.loops(result)
        s = schedule.split(result, elements, [32])
        return s.bind(result, f"{elements}.1", "threadIdx.x")


class TestCudaInstructionsEmulated(CudaInstructions):
    device_name = "emulated"


class TestCudaInstructionsOnGpu(CudaInstructions):
    device_name = "gpu0"


class TestCudaStrategies(StrategyContract, ReproducibleStrategyContract):
    target = TARGET
    tasks = TASKS


class TestCudaAnswers(StrategyAnswersContract):
    target = TARGET
    tasks = TASKS[7:10]
