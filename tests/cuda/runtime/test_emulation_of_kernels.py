"""The emulation runs texts as they ship, and gives right answers in every order of threads."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from tilewright.errors import UsageError
from tilewright.vocabulary.measure import DeviceFaultError
from tilewright_cuda.compile.compiler import compiled, find_compiler
from tilewright_cuda.device.devices import probe
from tilewright_cuda.driver.driver import ModuleImage, Shape
from tilewright_cuda.driver.driver_errors import DriverError
from tilewright_cuda.emulation import compile as emulation_compile
from tilewright_cuda.emulation.runtime import EmulatedRuntime, Order
from tilewright_cuda.program.arch import arch_named


def _run(text, name, shape, *arrays, order=Order.FORWARD):
    """The arrays as the kernel leaves them."""
    runtime = EmulatedRuntime(order)
    module = runtime.load(ModuleImage(text, None))
    addresses = [runtime.allocate(array.nbytes) for array in arrays]
    try:
        for address, array in zip(addresses, arrays, strict=True):
            runtime.upload(address, array)
        runtime.launcher(runtime.function(module, name, shape.shared_bytes), shape, addresses)()
        runtime.synchronize()
        for address, array in zip(addresses, arrays, strict=True):
            runtime.download(array, address)
    finally:
        for address in addresses:
            runtime.free(address)
        runtime.unload(module)
    return arrays


def _line(threads, shared_bytes=0, blocks=1):
    return Shape((blocks, 1, 1), (threads, 1, 1), shared_bytes)


def _kernel(body, parameters="float *__restrict__ out"):
    return f'extern "C" __global__ void __launch_bounds__(128) k({parameters}) {{\n{body}\n}}\n'


def test_good_kernels_give_the_right_answer(example, emulated_kernel):
    kernel = emulated_kernel(example)
    kernel.launch()
    assert example.error(kernel.read(len(example.shapes))) < 1e-6


def test_inputs_need_not_be_const(examples, emulated_kernel):
    text = re.sub(r"const (float \*__restrict__ [ab])", r"\1", examples["gemm"].text)
    kernel = emulated_kernel(replace(examples["gemm"], text=text))
    kernel.launch()
    assert examples["gemm"].error(kernel.read(2)) < 1e-6


def test_the_same_text_compiles_for_a_gpu(example):
    if find_compiler() is None:
        pytest.skip("no CUDA compiler on this machine")
    assert compiled(example.text, arch_named("sm_90", "test"))[:4] == b"\x7fELF"


def test_indices_and_extents_are_those_of_the_launch():
    text = _kernel(
        "const int at = ((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x);\n"
        "const int in = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;\n"
        "out[at * 24 + in] += at * 100 + in;"
    )
    for order in Order:
        (out,) = _run(
            text, "k", Shape((2, 3, 2), (4, 3, 2)), np.zeros(12 * 24, np.float32), order=order
        )
        expected = np.arange(12)[:, None] * 100 + np.arange(24)
        assert (out.reshape(12, 24) == expected).all()


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("__shfl_sync(0xffffffffu, v, 5)", lambda i: i // 32 * 32 + 5),
        ("__shfl_sync(0xffffffffu, v, 5, 8)", lambda i: i // 8 * 8 + 5),
        ("__shfl_xor_sync(0xffffffffu, v, 17)", lambda i: i ^ 17),
        ("__shfl_down_sync(0xffffffffu, v, 3)", lambda i: np.where(i % 32 < 29, i + 3, i)),
        ("__shfl_down_sync(0xffffffffu, v, 3, 16)", lambda i: np.where(i % 16 < 13, i + 3, i)),
        ("__shfl_up_sync(0xffffffffu, v, 1)", lambda i: np.where(i % 32 > 0, i - 1, i)),
        ("threadIdx.x < 32 ? v : __shfl_xor_sync(~0u, v, 1)", lambda i: np.where(i < 32, i, i ^ 1)),
    ],
)
def test_shuffles_take_the_value_of_the_lane_they_name(call, expected):
    text = _kernel(f"const float v = threadIdx.x;\nout[threadIdx.x] = {call};")
    for order in Order:
        (out,) = _run(text, "k", _line(96), np.zeros(96, np.float32), order=order)
        assert (out == expected(np.arange(96))).all()


def test_a_part_of_a_warp_may_exchange_by_itself():
    text = _kernel(
        "float v = threadIdx.x;\n"
        "if (threadIdx.x < 8) v = __shfl_xor_sync(0xffu, v, 1);\n"
        "out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, v, 8);"
    )
    (out,) = _run(text, "k", _line(32), np.zeros(32, np.float32))
    lanes = np.arange(32) ^ 8
    assert (out == np.where(lanes < 8, lanes ^ 1, lanes)).all()


def test_a_part_of_a_warp_may_meet_by_itself():
    text = _kernel(
        "__shared__ float s[16];\n"
        "if (threadIdx.x < 16) { s[threadIdx.x] = threadIdx.x; __syncwarp(0xffffu); "
        "out[threadIdx.x] = s[15 - threadIdx.x]; }\n"
        "__syncwarp();"
    )
    for order in Order:
        (out,) = _run(text, "k", _line(32), np.zeros(32, np.float32), order=order)
        assert (out[:16] == np.arange(16)[::-1]).all()


def test_copies_land_no_sooner_than_their_group_is_waited_for_in_forward_order():
    text = _kernel(
        "TW_DYN_SMEM(float, s);\n"
        "cp16(s, x); cp_commit();\n"
        "cp16(s + 4, x + 4, 8); cp_commit();\n"
        "cp_wait<1>();\n"
        "for (int i = 0; i < 8; ++i) out[i] = s[i];\n"
        "cp_wait<0>();\n"
        "for (int i = 0; i < 8; ++i) out[8 + i] = s[i];",
        "const float *__restrict__ x, float *__restrict__ out",
    )
    x = np.arange(1, 9, dtype=np.float32)
    _, out = _run(text, "k", _line(1, 32), x.copy(), np.zeros(16, np.float32))
    assert (out[:4] == x[:4]).all()
    assert (out[4:8] == np.float32(3.1e30)).all()
    assert (out[8:] == [1, 2, 3, 4, 5, 6, 0, 0]).all()
    _, early = _run(
        text, "k", _line(1, 32), x.copy(), np.zeros(16, np.float32), order=Order.REVERSE
    )
    assert (early[:8] == early[8:]).all()


def test_shared_memory_starts_poisoned_in_every_block():
    text = _kernel("TW_DYN_SMEM(float, s);\nout[blockIdx.x] = s[3];\ns[3] = 1;")
    (out,) = _run(text, "k", _line(1, 16, blocks=3), np.zeros(3, np.float32))
    assert (out == np.float32(3.1e30)).all()


_END, _START, _ALL = (Order.FORWARD, Order.RANDOM), (Order.REVERSE,), tuple(Order)


@pytest.mark.parametrize(
    ("body", "orders", "says"),
    [
        ("out[20] = 1;", _END, "0 bytes behind a buffer of 80"),
        ("out[-1] = 1;", _START, "4 bytes before a buffer of 80"),
        ("TW_DYN_SMEM(float, s); s[16] = 1;", _END, "outside of 64 bytes of shared memory"),
        ("TW_DYN_SMEM(float, s); out[0] = s[-1];", _START, "outside of 64 bytes of shared memory"),
        ("*(float4 *)(out + 1) = make_float4(0, 0, 0, 0);", _ALL, "misaligned address at line 2"),
        (
            "float t[4]; for (int i = 0; i <= 4; ++i) t[i] = i; out[0] = t[1];",
            _ALL,
            "index 4 outside",
        ),
        ("volatile char deep[100000]; deep[0] = 1; out[0] = deep[0];", _ALL, "illegal address"),
    ],
)
def test_a_touch_outside_is_a_fault_in_the_orders_that_can_see_it(body, orders, says):
    for order in orders:
        with pytest.raises(DeviceFaultError, match=says):
            _run(_kernel(body), "k", _line(1, 64), np.zeros(20, np.float32), order=order)


def test_a_write_into_the_few_bytes_before_the_guard_page_is_found():
    with pytest.raises(DeviceFaultError, match="a write behind a buffer of 12 bytes"):
        _run(_kernel("out[3] = 1;"), "k", _line(1), np.zeros(3, np.float32))


def test_an_overrun_is_told_of_the_kernel_that_did_it_and_of_no_other():
    runtime = EmulatedRuntime()
    short, victim = runtime.allocate(20), runtime.allocate(4)
    wild = runtime.load(ModuleImage(_kernel("out[5] = out[6] = out[7] = 1;"), None))
    with pytest.raises(DeviceFaultError, match="a write behind a buffer of 20 bytes"):
        runtime.launcher(runtime.function(wild, "k", 0), _line(1), [short])()
    runtime = EmulatedRuntime()
    good = runtime.load(ModuleImage(_kernel("out[0] = 1;"), None))
    runtime.launcher(runtime.function(good, "k", 0), _line(1), [victim])()
    runtime.synchronize()


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            "if (threadIdx.x < 5) __syncthreads();",
            "divergent barrier: others wait at line 2, ended",
        ),
        (
            "if (threadIdx.x < 5)\n__syncthreads();\nelse\n__syncthreads();",
            "divergent barrier: others wait at line 3, at line 5",
        ),
        (
            "if (threadIdx.x < 5) out[0] = __shfl_xor_sync(~0u, 1.0f, 1);",
            "not all of the warp come to line 2",
        ),
        (
            "if (threadIdx.x > 4) out[0] = __shfl_xor_sync(~0u, 1.0f, 1);",
            "not all of the warp come to line 2",
        ),
        (
            "if (threadIdx.x < 4) out[0] = __shfl_sync(0xfu, 1.0f, 9);",
            "takes the value of lane 9, which takes no part",
        ),
    ],
)
def test_threads_that_miss_each_other_are_told_with_their_lines(body, says):
    for order in Order:
        with pytest.raises(DeviceFaultError, match=says):
            _run(_kernel(body), "k", _line(40), np.zeros(40, np.float32), order=order)


@pytest.mark.parametrize(
    ("shape", "says"),
    [
        (_line(129), "more than its kernel is bounded to"),
        (_line(0), "the block has no thread"),
        (Shape((1, 65536, 1), (1, 1, 1)), "the grid has no block or too many"),
        (Shape((1, 1, 1), (1, 1, 65)), "more than 64 threads in z"),
        (_line(1, 228 << 10), "more than 227 KiB of shared memory"),
    ],
)
def test_a_launch_that_a_device_refuses_is_refused_and_the_context_lives(shape, says):
    runtime = EmulatedRuntime()
    module = runtime.load(ModuleImage(_kernel(""), None))
    function = runtime.function(module, "k", 0)
    address = runtime.allocate(4)
    with pytest.raises(DriverError, match=says):
        runtime.launcher(function, shape, [address])()
    runtime.launcher(function, _line(3), [address])()
    runtime.synchronize()


def test_launch_bounds_may_be_named():
    text = f"#define THREADS 64\n{_kernel('').replace('(128)', '(THREADS, 2)')}"
    with pytest.raises(DriverError, match="more than its kernel is bounded to"):
        _run(text, "k", _line(65), np.zeros(1, np.float32))


def test_a_lost_context_stays_lost():
    runtime = EmulatedRuntime()
    module = runtime.load(ModuleImage(_kernel("out[99] = 1;"), None))
    run = runtime.launcher(runtime.function(module, "k", 0), _line(1), [runtime.allocate(4)])
    for attempt in (run, run, runtime.synchronize):
        with pytest.raises(DeviceFaultError):
            attempt()


def test_a_kernel_that_is_not_there_is_an_error_of_the_driver():
    runtime = EmulatedRuntime()
    with pytest.raises(DriverError, match="no kernel 'other'"):
        runtime.function(runtime.load(ModuleImage(_kernel(""), None)), "other", 0)


def test_a_text_that_is_no_cuda_is_refused_with_what_the_compiler_says():
    with pytest.raises(RuntimeError, match=r"kernel\.cu:2.*no_such_thing"):
        EmulatedRuntime().load(ModuleImage(_kernel("no_such_thing();"), None))


def test_fibres_without_assembly_give_the_same_answers():
    script = """
import sys, numpy as np
from tilewright_cuda.driver.driver import ModuleImage, Shape
from tilewright_cuda.emulation import compile as emulation
emulation._COMMON = (*emulation._COMMON, "-DTW_UCONTEXT")
from tilewright_cuda.emulation.runtime import EmulatedRuntime, Order
text = "extern \\"C\\" __global__ void k(const float *x, float *out) { float v = x[threadIdx.x];" \\
    "for (int i = 0; i < 3; ++i) { v += __shfl_xor_sync(~0u, v, 1); __syncthreads(); }" \\
    "out[threadIdx.x] = v; }"
for order in Order:
    runtime = EmulatedRuntime(order)
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    addresses = [runtime.allocate(256), runtime.allocate(256)]
    runtime.upload(addresses[0], x)
    function = runtime.function(runtime.load(ModuleImage(text, None)), "k", 0)
    runtime.launcher(function, Shape((1, 1, 1), (64, 1, 1)), addresses)()
    runtime.download(out, addresses[1])
    assert (out == 4 * (x + x.reshape(-1, 2)[:, ::-1].reshape(-1))).all(), out
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=600)


def test_without_a_compiler_there_is_no_emulated_device_and_a_clear_message(monkeypatch):
    monkeypatch.setattr(emulation_compile, "compiler_version", lambda: None)
    assert [device.name for device in probe() if device.name == "emulated"] == []
    with pytest.raises(UsageError, match=r"compiles kernels with g\+\+, which is not installed"):
        emulation_compile.compile_kernels(_kernel(""))
