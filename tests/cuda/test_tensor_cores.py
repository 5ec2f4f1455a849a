"""Tensor cores: what lies in which register, what compilers make of it, what is offered where."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from answers import task_of

from tilewright.host.plugin_host import PluginHost
from tilewright.space.config_space import ConfigSpace
from tilewright.vocabulary.config import ConfigEntity
from tilewright_cuda.compile.compiler import find_compiler
from tilewright_cuda.emulation.compile import compiler_version
from tilewright_cuda.instructions.mma import COLUMNS, PRODUCTS, ROWS
from tilewright_cuda.program import cubin as cubin_module
from tilewright_cuda.program.arch import arch_named
from tilewright_cuda.program.artifact import artifact_of
from tilewright_cuda.program.cubin import resources_of
from tilewright_cuda.strategies import gemm_mma
from tilewright_cuda.text.cuda_c import CUDA_C
from tilewright_cuda.text.generate import generate
from tilewright_cuda.text.prelude import prelude
from tilewright_tensor.expressions.dtype import DTYPES, numpy_type, stored
from tilewright_tensor.lowering.lower import lower
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.testing.tensor_instruction import using

LANES, INSTRUCTIONS, REGISTERS = 32, 2, 6
_MATRIX_OPCODES = {"float32": 0x23C, "int32": 0x237}  # HMMA and IMMA in the code of sm_80 and sm_90

_HARNESS = """
#define __device__
#define __forceinline__ inline
#define __CUDA_ARCH__ 800
static struct { unsigned x; } threadIdx;
struct uint4 { unsigned x, y, z, w; };
static unsigned *taken;
static void took(unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
  const unsigned all[] = {a0, a1, a2, a3, b0, b1};
  for (int i = 0; i < 6; ++i) *taken++ = all[i];
}
%s
extern "C" void take(int lane, const void *a, int a_row, const void *b, int b_row, unsigned *into) {
  threadIdx.x = lane, taken = into;
  %s(nullptr, (const %s *)a, a_row, (const %s *)b, b_row);
}
extern "C" void store(int lane, const int *sums, int *to, int row) {
  threadIdx.x = lane;
  tw_mma_store(sums, to, row);
}
"""


def helper_of(instruction: Any) -> str:
    return "tw_" + instruction.name.replace(".", "_")


def on_a_warp(instruction: Any) -> Schedule:
    schedule = using(instruction)
    result = schedule.dag.outputs[0]
    _, elements = schedule.loops(result)
    s = schedule.split(result, elements, [LANES])
    return s.bind(result, f"{elements}.1", "threadIdx.x")


every_product = pytest.mark.parametrize("operands", PRODUCTS, ids=" by ".join)
"""Pairs of data types."""


@pytest.fixture(scope="session")
def warp(tmp_path_factory: Any) -> Any:
    """The helpers of an instruction as a library: they tell what they would hand to it."""
    if compiler_version() is None:
        pytest.skip("needs g++")

    def library(instruction: Any) -> Any:
        name = helper_of(instruction)
        text = prelude({name, "tw_mma_store"})
        text, calls = re.subn(
            r"asm volatile\(.*?\);", "took(a0, a1, a2, a3, b0, b1);", text, flags=re.DOTALL
        )
        assert calls == 1, "both are one function"
        kinds = [CUDA_C.type_of(read.tensor.dtype) for read in instruction.meaning.reads]
        harness = _HARNESS % (text, name, *kinds)
        folder = tmp_path_factory.mktemp("warp")
        (folder / "warp.cpp").write_text(harness)
        command = ["g++", "-shared", "-fPIC", "-fno-strict-aliasing", "-w", "-o"]
        made = folder / "warp.so"
        subprocess.run([*command, str(made), str(folder / "warp.cpp")], check=True)
        return ctypes.CDLL(str(made))

    return library


def _pointer(array: Any) -> Any:
    return ctypes.c_void_p(array.ctypes.data)


def _told_layout(bytes_of_item: int) -> tuple[Any, Any]:
    """Which elements an instruction finds in a thread: of A (row, term), of B (term, column).

    As in PTX ISA, "Matrix Fragments for mma.m16n8k8, m16n8k16 and m16n8k32": with i the number of
    the element, 4 bytes a register.
    """
    per = 4 // bytes_of_item
    lane = np.arange(LANES)[:, None]
    group, thread = lane >> 2, lane % 4
    i = np.arange(4 * per)[None]
    row = np.where(i // per % 2 == 0, group, group + 8)
    term = thread * per + i % per + np.where(i < 2 * per, 0, 4 * per)
    j = np.arange(2 * per)[None]
    other = thread * per + j % per + np.where(j < per, 0, 4 * per)
    return (row, term), (other, np.broadcast_to(group, other.shape))


@every_product
def test_what_threads_hand_over_and_store_is_the_product_as_ptx_computes_it(
    operands: tuple[str, str], warp: Any
) -> None:
    instruction = PRODUCTS[operands]
    library = warp(instruction)
    item_bytes = numpy_type(operands[0]).itemsize
    per = 4 // item_bytes
    terms, rng = 8 * per, np.random.default_rng(0)
    # 16 bytes or more between the rows; every element is a small whole number of its bytes
    a_row, b_row = INSTRUCTIONS * terms + 4 * per, INSTRUCTIONS * terms + 8 * per
    bits = f"u{item_bytes}"
    a = rng.integers(0, 200, (ROWS, a_row)).astype(bits)
    b = rng.integers(0, 200, (COLUMNS, b_row)).astype(bits)
    taken = np.zeros((LANES, INSTRUCTIONS, REGISTERS), "u4")
    for lane in range(LANES):
        library.take(lane, _pointer(a), a_row, _pointer(b), b_row, _pointer(taken[lane]))
    of_a, of_b = _told_layout(item_bytes)
    summed = np.zeros((ROWS, COLUMNS), "i8")
    for registers in taken.transpose(1, 0, 2):
        elements = np.ascontiguousarray(registers).view(bits)
        one, other = np.full((ROWS, terms), -1, "i8"), np.full((terms, COLUMNS), -1, "i8")
        one[of_a], other[of_b] = elements[:, : 4 * per], elements[:, 4 * per :]
        summed += one @ other
    lane, i = np.arange(LANES)[:, None], np.arange(4)[None]
    row, column = np.where(i < 2, lane >> 2, (lane >> 2) + 8), lane % 4 * 2 + i % 2
    sums = np.ascontiguousarray(summed[row, column], "i4")
    expected = np.full((ROWS, COLUMNS + 3), -1, "i4")
    both = INSTRUCTIONS * terms
    expected[:, :COLUMNS] = a[:, :both].astype("i8") @ b[:, :both].astype("i8").T
    got = np.full_like(expected, -1)
    for one_lane in range(LANES):
        library.store(one_lane, _pointer(sums[one_lane]), _pointer(got), got.shape[1])
    np.testing.assert_array_equal(got, expected)


@every_product
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_an_instruction_is_two_of_the_machine_code(operands: tuple[str, str], arch: str) -> None:
    if (compiler := find_compiler(arch)) is None:
        pytest.skip(f"no compiler for {arch} is installed")
    instruction = PRODUCTS[operands]
    program = lower(on_a_warp(instruction), "instruction")
    made = generate(program, arch_named(arch, "test")).program
    cubin, _ = compiler.compile(made.modules[0], arch)
    code = dict(cubin_module._sections(cubin))[".text.instruction"]
    opcodes = Counter(
        low | (high & 0xF) << 8 for low, high in zip(code[::16], code[1::16], strict=True)
    )
    steps = program.inputs[0].shape[0]
    assert opcodes[_MATRIX_OPCODES[instruction.meaning.dtype]] == INSTRUCTIONS * steps
    resources = resources_of(cubin)["instruction"]
    assert (resources.stack, resources.local_loads, resources.local_stores) == (0, 0, 0)


@every_product
def test_operands_of_any_other_data_type_are_refused(operands: tuple[str, str]) -> None:
    for dtype in (*DTYPES, "tf32"):
        if {dtype} != set(operands):
            with pytest.raises(ValueError, match="expected"):
                lower(using(PRODUCTS[operands], dtype=dtype), "instruction")


def test_rows_that_begin_between_loads_are_refused(monkeypatch: Any) -> None:
    """A thread takes 16 bytes at once: at an address that they do not divide, a GPU faults."""
    monkeypatch.setattr(gemm_mma, "_ROW_PADDING", 8)
    host, task = PluginHost.load(), task_of("matmul(64x96, 96x80)", "cuda:arch=sm_90")
    config = host.implementation("gemm_mma_f16.cuda").fallback(task)
    with pytest.raises(ValueError, match=r"rows of left begin 36 elements apart, .* multiple of 8"):
        generate(host.lower(task, config), arch_named("sm_90", "test"))


def _computed(emulated: Any, strategy: str, arrays: list[Any], **values: int) -> Any:
    """The product of two matrices by the first point of a strategy, or one of other values."""
    (m, k), n = arrays[0].shape, arrays[1].shape[1]
    name = "matmul" if arrays[0].dtype == np.float32 else "matmul_integer"
    task = emulated.task(f"{name}({m}x{k}:{arrays[0].dtype}, {k}x{n}:{arrays[1].dtype})")
    half = emulated.host.implementation(strategy)
    config = ConfigSpace(half.alternatives(task)).first()
    config = ConfigEntity(strategy, {**config.values, **values})
    program = generate(half.lower(task, config), arch_named("sm_90", "test")).program
    artifact = artifact_of(task.target, program, [None], {})
    kernel = emulated.backend.load(artifact, emulated.device)
    try:
        poison = np.full((m, n), 77, np.float32 if name == "matmul" else np.int32)
        kernel.bind([*arrays, poison], {})
        kernel.launch()
        return np.array(kernel.read(2))
    finally:
        kernel.close()


@pytest.mark.parametrize(
    ("shape", "stages"), [((1, 1, 1), 1), ((3, 67, 29), 1), ((17, 131, 13), 2)], ids=str
)
@pytest.mark.parametrize("dtype", ["tf32", "bf16", "f16"])
def test_factors_are_rounded_and_nan_and_infinities_stay_in_their_rows_and_columns(
    emulated: Any, dtype: str, shape: tuple[int, int, int], stages: int
) -> None:
    """As well where tiles are filled up with zeros, by which nothing may be multiplied."""
    m, k, n = shape
    rng = np.random.default_rng(0)
    left, right = (rng.standard_normal(one, np.float32) for one in ((m, k), (k, n)))
    left[m // 2, k - 1], right[0, n // 2] = np.nan, np.inf
    full = {"tf32": "tf32", "bf16": "bfloat16", "f16": "float16"}[dtype]
    factors = [stored(one, full).astype(np.float64) for one in (left, right)]
    with np.errstate(all="ignore"):
        expected = factors[0] @ factors[1]
    got = _computed(emulated, f"gemm_mma_{dtype}.cuda", [left, right], stages=stages)
    np.testing.assert_allclose(got, expected, 1e-5, 1e-5)


def test_float16_ends_at_its_greatest_number_and_keeps_denormals(emulated: Any) -> None:
    left = np.array([[65504, 2.0**-24, 2.0**-25, 70000]], np.float32)
    right = np.eye(4, dtype=np.float32)
    got = _computed(emulated, "gemm_mma_f16.cuda", [left[:, :3], right[:3, :3]])
    np.testing.assert_array_equal(got, [[65504, 2.0**-24, 0]])
    beyond = _computed(emulated, "gemm_mma_f16.cuda", [left, right])
    assert np.isnan(beyond[0, :3]).all(), "infinity by 0"
    assert beyond[0, 3] == np.inf


@pytest.mark.parametrize(
    "operands", [one for one in PRODUCTS if one[0].endswith("int8")], ids=" by ".join
)
def test_products_of_extreme_bytes_are_exact(emulated: Any, operands: tuple[str, str]) -> None:
    m, k, n = 19, 131, 9
    limits = [np.iinfo(one) for one in operands]
    for values in product(*((one.min, one.max) for one in limits)):
        arrays = [
            np.full(shape, value, dtype)
            for shape, value, dtype in zip(((m, k), (k, n)), values, operands, strict=True)
        ]
        got = _computed(emulated, "gemm_mma_integer.cuda", arrays, stages=2)
        np.testing.assert_array_equal(got, np.full((m, n), k * int(values[0]) * int(values[1])))


@pytest.mark.parametrize(
    ("precision", "offered"),
    [
        ("float32", set()),
        ("tf32", {"tf32"}),
        ("bfloat16", {"tf32", "bf16"}),
        ("float16", {"tf32", "f16"}),
    ],
)
def test_a_run_takes_its_own_precision_and_those_that_lose_less(
    precision: str, offered: set[str]
) -> None:
    host = PluginHost.load().at_precision(precision)
    task = task_of("matmul(64x96, 96x80)", "cuda:arch=sm_80")
    names = {one.name for one in host.strategies(task, "gemm_mma*")}
    assert names == {f"gemm_mma_{one}.cuda" for one in offered}
    old = task_of("matmul(64x96, 96x80)", "cuda:arch=sm_75")
    assert not list(host.strategies(old, "gemm_mma*"))
