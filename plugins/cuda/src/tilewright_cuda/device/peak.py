"""Peaks of a device: multiply-adds in registers, and a sum over its memory.

Both are programs like any other, so that compiler, driver and clock are those of the kernels that
are compared with the figures.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import UsageError
from tilewright.roles import Kernel
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.target import Target
from tilewright_cuda.compile.build import build
from tilewright_cuda.device.loading import load_kernel
from tilewright_cuda.driver.driver_errors import NO_DRIVER
from tilewright_cuda.program.arch import ARCHS, runs_on
from tilewright_cuda.program.cuda_program import CudaProgram, Launch, Pointer

_CHAINS = 16
_UNROLLED = 16
"""Rounds between two tests of the loop, which would take the place of three multiply-adds."""
_THREADS = 256
_WARMING_SECONDS = 0.2
"""An idle GPU takes a while to raise its clock."""

_FLOPS_TEXT = """\
extern "C" __global__ void __launch_bounds__({threads}) multiply_adds(
    const float *__restrict__ factor, float *__restrict__ out) {{
  const float f = factor[threadIdx.x];
  float sums[{chains}];
#pragma unroll
  for (int i = 0; i < {chains}; ++i) sums[i] = f + i;
#pragma unroll {unrolled}
  for (int round = 0; round < {rounds}; ++round)
#pragma unroll
    for (int i = 0; i < {chains}; ++i) sums[i] = sums[i] * f + f;
  float total = 0;
#pragma unroll
  for (int i = 0; i < {chains}; ++i) total += sums[i];
  out[blockIdx.x * {threads} + threadIdx.x] = total;
}}
"""

_READ_TEXT = """\
extern "C" __global__ void __launch_bounds__({threads}) read_all(
    const float4 *__restrict__ values, float *__restrict__ out) {{
  float total = 0;
#pragma unroll 4
  for (int at = blockIdx.x * {threads} + threadIdx.x; at < {count}; at += {blocks} * {threads}) {{
    const float4 v = values[at];
    total += v.x + v.y + v.z + v.w;
  }}
  out[blockIdx.x * {threads} + threadIdx.x] = total;
}}
"""


def measure_peak(device: Device) -> tuple[float, float]:
    """(float32 operations a second, bytes read a second from device memory).

    Raises UsageError where the device does not answer: this is the first that is asked of it.
    """
    try:
        return measure_flops(device), measure_bandwidth(device)
    except NO_DRIVER as error:
        raise UsageError(
            f"device {device.name!r} does not work: {error}",
            remedy="nvidia-smi tells its state and who uses it; --device names another",
        ) from error


def measure_flops(device: Device) -> float:
    """Float32 operations a second, a multiply-add counting two; best of several samples."""
    blocks, rounds = _blocks(device), 20 if device.emulated else 4096
    text = flops_text(rounds)
    kernel = _kernel(device, text, "multiply_adds", blocks, np.full(_THREADS, 0.5, np.float32))
    return 2.0 * blocks * _THREADS * _CHAINS * rounds / _best_seconds(kernel, device)


def flops_text(rounds: int) -> str:
    """The kernel `multiply_adds`: so many rounds of multiply-adds that depend on nothing else."""
    return _FLOPS_TEXT.format(threads=_THREADS, chains=_CHAINS, unrolled=_UNROLLED, rounds=rounds)


def measure_bandwidth(device: Device) -> float:
    """Bytes a second read from memory many times the last-level cache."""
    blocks, size = _blocks(device), 4 << 20 if device.emulated else 512 << 20
    text = _READ_TEXT.format(threads=_THREADS, blocks=blocks, count=size // 16)
    kernel = _kernel(device, text, "read_all", blocks, np.ones(size // 4, np.float32))
    return size / _best_seconds(kernel, device)


def _kernel(
    device: Device, text: str, name: str, blocks: int, values: NDArray[np.float32]
) -> Kernel:
    arrays: list[NDArray[Any]] = [values, np.zeros(blocks * _THREADS, np.float32)]
    program = CudaProgram(
        (text,),
        (Launch(0, name, (blocks, 1, 1), (_THREADS, 1, 1), 0, (Pointer(0), Pointer(1))),),
        tuple((array.shape, "float32") for array in arrays),
    )
    kernel = load_kernel(build(program, Target("cuda", {"arch": _arch(device)})), device)
    kernel.bind(arrays, {})
    return kernel


def _best_seconds(kernel: Kernel, device: Device) -> float:
    kernel.time(1)
    end = time.monotonic() + (0 if device.emulated else _WARMING_SECONDS)
    seconds = [kernel.time(1) for _ in range(5)]
    while time.monotonic() < end:
        seconds.append(kernel.time(1))
    kernel.close()
    return min(seconds)


def _blocks(device: Device) -> int:
    return 8 * int(device.attributes.get("multiprocessors", 1))


def _arch(device: Device) -> str:
    capability = tuple(device.attributes.get("capability", ARCHS[-1].capability))
    return [arch for arch in ARCHS if runs_on(arch, capability)][-1].name
