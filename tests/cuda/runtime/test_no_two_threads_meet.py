"""No two threads touch one place between barriers, where one of them writes: no data race.

The order of threads, which the emulated device permutes, shows most races, but not those in which
every thread does the same to one place: on a device they are in the middle of it together.
"""

from __future__ import annotations

import ctypes
import random
import subprocess
from collections.abc import Callable
from dataclasses import replace
from math import prod
from pathlib import Path

import numpy as np
import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright_cuda.driver.driver import ModuleImage, Shape
from tilewright_cuda.emulation import compile as emulation
from tilewright_cuda.emulation.runtime import EmulatedRuntime
from tilewright_cuda.program.arch import arch_named
from tilewright_cuda.program.cuda_program import CudaProgram
from tilewright_cuda.text.generate import generate
from tilewright_pipeline.api.task_text import find_task

Audit = Callable[[CudaProgram], tuple[int, int]]

# Between the emulation's own definitions and a kernel's text.
_WATCHED = """\
extern "C" {
void audit_barrier();
void audit_copy(unsigned bytes, void *to, const void *from, unsigned valid);
void audit_commit();
void audit_wait(unsigned groups);
}
template <int bytes> static inline void copied(void *to, const void *from, int valid = bytes) {
  audit_copy(bytes, to, from, valid);
  tw_copy(to, from, bytes, valid);
}
template <int groups> static inline void waited() { audit_wait(groups); cp_wait<groups>(); }
// g++ does not watch what a call stores
#define make_float2(...) (float2{__VA_ARGS__})
#define make_float4(...) (float4{__VA_ARGS__})
#define make_int2(...) (int2{__VA_ARGS__})
#define make_int4(...) (int4{__VA_ARGS__})
#undef __syncthreads
#define __syncthreads() (audit_barrier(), tw_block_barrier(__LINE__))
#define cp16 copied<16>
#define cp4 copied<4>
#define cp_commit() (audit_commit(), cp_commit())
#define cp_wait waited
"""

TASKS = """
dense(3x130, 35x130)
reduce_sum(3x17x40, axes=[1])
matmul_integer(3x17:uint8, 17x9:int8)
""".strip().splitlines()

MORE_TASKS = """
conv2d(1x16x7x7, 32x16x3x3, padding=1) + add(1x32x1x1:const) + add(1x32x7x7) + relu()
conv2d(2x17x5x11, 13x17x3x3, padding=[1,0,2,1]) + add(1x13x1x1:const) + tanh()
conv2d(1x20x5x19, 24x20x1x1, strides=2)
conv2d(1x23x11x13, 23x1x5x5, strides=2, padding=2, groups=23)
dense(67x31, 35x31)
dense(1x64, 50x64:const) + add(1x50:const)
matmul(2x19x24, 2x24x36)
max_pool2d(1x5x9x9, pool_size=2, strides=2) + relu()
avg_pool2d(2x16x8x8, pool_size=3, strides=2, padding=1)
global_avg_pool2d(1x64x7x7)
reduce_sum(3x5x17, axes=[2])
reduce_max(37x300, axes=[1])
reduce_sum(37x300)
softmax(37x300) + relu()
softmax(3x5x17, axis=1)
multiply(2x7x5x3, 2x7x5x1) + add(1x7x5x3)
concat(1x3x5x5, 1x7x5x5, axis=1)
layer_norm(3x5x17, 17, 17)
layout_transform(2x37x5x9, src=NCHW, dst=NHWC)
layout_transform(1x32x7x7, src=NCHW, dst=NCHW16c)
""".strip().splitlines()

_TOGETHER = """
extern "C" __global__ void sums(const float *in, float *out) {
  TW_DYN_SMEM(float, total);
  total[0] = 0;
  for (int i = 0; i < 4; ++i) total[0] += in[i];
  __syncthreads();
  out[threadIdx.x] = total[0];
}
"""


@pytest.fixture(scope="module")
def watch(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """What kernels call at every access, once they are compiled so."""
    emulation.fibres()
    library = tmp_path_factory.mktemp("races") / "race_audit.so"
    source = Path(__file__).with_name("race_audit.cpp")
    subprocess.run(["g++", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    watch = ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
    watch.audit_buffer.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
    watch.audit_begin.argtypes = [ctypes.c_size_t]
    return watch


@pytest.fixture
def audit(watch: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch) -> Audit:
    """audit(program): racing accesses (of writers, of readers and writers)."""
    monkeypatch.setattr(emulation, "_COMMON", ("-std=c++17", "-O0", "-fPIC", "-shared", "-w"))
    monkeypatch.setattr(emulation, "_CHECKED", ("-fsanitize=thread",))

    def run(program: CudaProgram) -> tuple[int, int]:
        runtime = EmulatedRuntime()
        sizes = [prod(shape) * np.dtype(dtype).itemsize for shape, dtype in program.operands]
        sizes += program.workspace_bytes
        places = [runtime.allocate(size) for size in sizes]
        modules = [runtime.load(ModuleImage(_WATCHED + text, None)) for text in program.modules]
        racing = [0, 0]
        for launch in program.launches:
            function = runtime.function(modules[launch.module], launch.kernel, launch.shared_bytes)
            shape = Shape(launch.grid, launch.block, launch.shared_bytes)
            given = [places[one.slot] + one.offset for one in launch.arguments]
            for place, size in zip(places, sizes, strict=True):
                watch.audit_buffer(place, size)
            found = (ctypes.c_long * 2)()
            watch.audit_begin(launch.shared_bytes)
            runtime.launcher(function, shape, given)()
            watch.audit_end(found)
            racing = [sum(both) for both in zip(racing, found, strict=True)]
        for place in places:
            runtime.free(place)
        for module in modules:
            runtime.unload(module)
        return racing[0], racing[1]

    return run


@pytest.mark.parametrize(
    ("name", "removed"),
    [
        ("gemm", "__syncthreads();  // tile is read"),
        ("pipeline", "cp_wait<1>();"),
        ("pipeline", "__syncthreads();  // for everybody, and the stage that comes next is read"),
    ],
)
def test_a_missing_barrier_or_wait_is_seen(examples, audit, name, removed):
    good = examples[name]
    assert good.text.count(removed) == 1
    assert audit(good.program()) == (0, 0)
    assert audit(replace(good, text=good.text.replace(removed, "")).program())[1] > 0


def test_threads_that_all_add_up_in_one_place_are_seen(examples, audit):
    together = replace(examples["gemm"], name="sums", text=_TOGETHER).program()
    (launch,) = together.launches
    launch = replace(launch, grid=(1, 1, 1), block=(64, 1, 1), arguments=launch.arguments[1:])
    writes, reads = audit(replace(together, launches=(launch,)))
    assert writes
    assert reads


def test_blocks_that_write_the_same_are_seen(examples, audit):
    gemm = examples["gemm"]
    text = gemm.text.replace("blockIdx.x", "0u")
    assert text != gemm.text
    assert audit(replace(gemm, text=text).program())[0] > 0


@pytest.mark.parametrize(
    ("text", "count", "precision"),
    [
        *((text, 1, "float32") for text in TASKS),
        *(
            pytest.param(text, 4, "float16", marks=pytest.mark.full)
            for text in (*TASKS, *MORE_TASKS)
        ),
    ],
)
def test_no_kernel_of_a_strategy_races(audit, text, count, precision):
    host = PluginHost.load().at_precision(precision)
    target = host.resolve_target("cuda:arch=sm_90")
    task = find_task(text, target, host, None)
    for strategy in host.strategies(task):
        seen = 0
        fallback = host.implementation(strategy.name).fallback(task)
        sampled = host.space(task, strategy.name).sample(random.Random(text), count)
        for config in dict.fromkeys([*([fallback] if fallback else []), *sampled][:count]):
            try:
                program = generate(host.lower(task, config), arch_named("sm_90", "test")).program
            except ValueError:  # too many threads or registers
                continue
            assert audit(program) == (0, 0), config.text
            seen += 1
        assert seen, strategy.name
