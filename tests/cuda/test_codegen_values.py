"""Every operation in every dtype: emulated kernels agree with the interpreter, on odd values too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilewright.vocabulary.target import Target
from tilewright_cuda.backend import CudaBackend
from tilewright_cuda.compile.compiler import find_compiler
from tilewright_cuda.program.arch import arch_named
from tilewright_cuda.program.artifact import artifact_of
from tilewright_cuda.text.generate import generate
from tilewright_tensor.evaluation.interpret import interpret
from tilewright_tensor.expressions.affine import Var, floor_div, index, mod
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.dtype import numpy_type
from tilewright_tensor.expressions.expr import OPERATIONS, Const, IndexValue, Load, Op, Value, cast
from tilewright_tensor.expressions.lookup import lookup
from tilewright_tensor.ir.loop_ir import Block, Loop, LoopProgram, Store

COUNT = 24
T, V, BLOCK = Var("t"), Var("v"), Var("block")
PLACE = (index(T) * 2 + V,)
FLOATS = (
    "exp", "expm1", "log", "log1p", "sqrt", "tanh", "erf", "sin", "cos", "floor", "ceil", "round",
    "pow", "rem",
)  # fmt: skip
DTYPES = ("float32", "float64", "int32", "int64", "int8", "uint8", "int16", "uint32")
COMPARED = ("lt", "le", "gt", "ge", "eq", "ne")


def _values(dtype: str, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(COUNT) < 0.5
    if dtype.startswith("float"):
        odd = [0.5, 1.5, -2.5, np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0]
        return np.array([*rng.permutation(odd), *rng.normal(0, 3, COUNT - len(odd))], dtype)
    low = 0 if dtype.startswith("u") else -100
    values = rng.integers(low, 100, COUNT)
    return values.astype(dtype)


def _cases() -> list[tuple[str, Value, str]]:
    """(name, value, dtype of the result) over inputs `a_DTYPE` and `b_DTYPE`."""
    found: list[tuple[str, Value, str]] = []

    def add(name: str, dtype: str, result: str, count: int) -> None:
        args = tuple(Load(Buffer(f"{side}_{dtype}", (COUNT,), dtype), PLACE) for side in "ab")
        found.append((f"{name}_{dtype}", Op(name, args[:count], result), result))

    for dtype in DTYPES:
        floating = dtype.startswith("float")
        for name in ("add", "sub", "mul", "div", "max", "min"):
            add(name, dtype, dtype, 2)
        if not floating:
            for name in ("mod", "quo", "rem"):
                add(name, dtype, dtype, 2)
        a, b = (Load(Buffer(f"{side}_{dtype}", (COUNT,), dtype), PLACE) for side in "ab")
        for name in ("neg", "abs"):
            add(name, dtype, dtype, 1)
            larger = Op("max", (Op(name, (a,), dtype), b), dtype)
            found.append((f"max_of_{name}_{dtype}", larger, dtype))
        for name in FLOATS if floating else ():
            add(name, dtype, dtype, OPERATIONS[name])
        for name in COMPARED:
            add(name, dtype, "bool", 2)
        chosen = Op("select", (Op("lt", (a, Const(1, dtype)), "bool"), a, Const(3, dtype)), dtype)
        found.append((f"select_{dtype}", chosen, dtype))
    for name in ("and", "or"):
        add(name, "bool", "bool", 2)
    add("not", "bool", "bool", 1)
    for source in ("float32", "float64"):
        any_float = Load(Buffer(f"a_{source}", (COUNT,), source), PLACE)
        found += [
            (f"whole_{source}_{dtype}", cast(any_float, dtype), dtype)
            for dtype in DTYPES
            if "int" in dtype
        ]
    finite = Load(Buffer("a_int32", (COUNT,), "int32"), PLACE)
    found += [
        (f"cast_{dtype}", cast(finite, dtype), dtype)
        for dtype in ("float32", "float64", "int8", "int64", "bool")
    ]
    position = index(T) * 2 + V
    for name, value in (
        ("index", position), ("quotient", floor_div(5 - position, 4)), ("rest", mod(5 - position, 4)),
        ("found", floor_div(5 - lookup(finite, 9), 4)),
    ):  # fmt: skip
        found.append((name, cast(IndexValue(value), "float32"), "float32"))
    return found


def _program() -> LoopProgram:
    """A kernel a case, each thread with two lanes."""
    cases = _cases()
    outputs = tuple(Buffer(f"out_{name}", (COUNT,), dtype) for name, _, dtype in cases)
    inputs = tuple(
        Buffer(f"{side}_{dtype}", (COUNT,), dtype) for dtype in (*DTYPES, "bool") for side in "ab"
    )
    nests = [
        Loop(T, COUNT // 2, "threadIdx.x", Loop(V, 2, "vectorized", Store(output, PLACE, value)))
        for output, (_, value, _) in zip(outputs, cases, strict=True)
    ]
    return LoopProgram("values", inputs, outputs, Block(tuple(nests)))


def _results(program: LoopProgram, arrays: list[Any], device: Any) -> list[Any]:
    """What the kernel of the program makes; its outputs hold ones before."""
    poison = [np.ones(b.shape, numpy_type(b.dtype)) for b in program.outputs]
    target = Target.parse("cuda:arch=sm_90")
    made = generate(program, arch_named("sm_90", "test")).program
    kernel = CudaBackend().load(artifact_of(target, made, [None], {}), device)
    try:
        kernel.bind([*arrays, *poison], {})
        kernel.launch()
        return [kernel.read(len(arrays) + n) for n in range(len(poison))]
    finally:
        kernel.close()


def test_every_operation_agrees_with_the_interpreter(emulated_device):
    program = _program()
    arrays = [_values(b.dtype, n) for n, b in enumerate(program.inputs)]
    results = _results(program, arrays, emulated_device)
    with np.errstate(all="ignore"):
        expected = interpret(program, arrays)
    for buffer, got, wanted in zip(program.outputs, results, expected, strict=True):
        rtol = 1e-14 if "64" in buffer.dtype else 2e-6
        np.testing.assert_allclose(
            got, wanted, rtol=rtol if "float" in buffer.dtype else 0, err_msg=buffer.name
        )


@pytest.mark.skipif(find_compiler() is None, reason="no CUDA compiler is installed")
def test_every_operation_compiles():
    text = generate(_program(), arch_named("sm_90", "test")).program.modules[0]
    cubin, log = find_compiler().compile(text, "sm_90")
    assert cubin[:4] == b"\x7fELF"
    assert "error" not in log


def _bits(dtype: str) -> Any:
    """Every value of 2 bytes; of float32, what rounding to any of them hangs on, and anything."""
    if dtype != "float32":
        return np.arange(1 << 16, dtype=np.uint16).view(numpy_type(dtype))
    rng = np.random.default_rng(0)
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32).view(np.uint32)
    edges = [halves + np.uint32(offset) for offset in (0, 0xFFF, 0x1000, 0x1001)]
    anything = rng.integers(0, 1 << 32, 1 << 16, dtype=np.uint32)
    halfway = anything & np.uint32(0xFFFF0000) | np.uint32(0x8000)
    return np.concatenate([*edges, anything, halfway]).view(np.float32)


def test_conversions_of_narrow_floats_are_right_to_the_bit(emulated_device):
    nests, buffers = [], []
    narrow = ("bfloat16", "float16", "tf32")
    ways = [("float32", one) for one in narrow] + [(one, "float32") for one in narrow[:2]]
    ways += [("float16", "bfloat16"), ("bfloat16", "float16"), ("bfloat16", "tf32")]
    inputs = [_bits(source) for source, _ in ways]
    for number, ((source, result), values) in enumerate(zip(ways, inputs, strict=True)):
        given = Buffer(f"x{number}", values.shape, source)
        made = Buffer(f"y{number}", values.shape, result)
        place = (BLOCK * 256 + T,)
        body = Store(made, place, cast(Load(given, place), result))
        threads = Loop(T, 256, "threadIdx.x", body)
        nests.append(Loop(BLOCK, values.size // 256, "blockIdx.x", threads))
        buffers.append((given, made))
    read, written = zip(*buffers, strict=True)
    program = LoopProgram("conversions", read, written, Block(tuple(nests)))
    results = _results(program, inputs, emulated_device)
    with np.errstate(all="ignore"):
        expected = interpret(program, inputs)
        nothing = [np.isnan(one.astype(np.float32)) for one in (*results, *expected)]
    for number, way in enumerate(ways):
        got, wanted = results[number], expected[number]
        none = nothing[number]
        np.testing.assert_array_equal(none, nothing[number + len(ways)], str(way))
        bits = f"u{got.itemsize}"
        np.testing.assert_array_equal(got.view(bits)[~none], wanted.view(bits)[~none], str(way))


def test_a_kernel_of_hundreds_of_operands_is_launched_as_a_gpu_would(emulated_device):
    buffers = [Buffer(f"x{number}", (COUNT,)) for number in range(300)]
    total: Value = Load(buffers[0], PLACE)
    for number in range(1, 300, 2):
        pair = Op("add", (Load(buffers[number], PLACE), Load(buffers[-number], PLACE)), "float32")
        total = Op("max", (total, pair), "float32")
    result = Buffer("y", (COUNT,))
    nest = Loop(T, COUNT // 2, "threadIdx.x", Loop(V, 2, "serial", Store(result, PLACE, total)))
    program = LoopProgram("wide", tuple(buffers), (result,), nest)
    inputs = [np.full(COUNT, number, np.float32) for number in range(300)]
    (found,) = _results(program, inputs, emulated_device)
    np.testing.assert_array_equal(found, interpret(program, inputs)[0])
