"""Loop programs printed as C: every operation in every dtype is what the interpreter says."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilewright_tensor.c_text.c_module import CFunction, CModule, network_module, program_module
from tilewright_tensor.c_text.dialect import Dialect
from tilewright_tensor.evaluation.interpret import interpret
from tilewright_tensor.expressions.affine import Var, floor_div, index, mod
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.dtype import limits
from tilewright_tensor.expressions.expr import (
    OPERATIONS,
    Const,
    IndexValue,
    Load,
    Op,
    Value,
    cast,
    lt,
)
from tilewright_tensor.expressions.lookup import lookup
from tilewright_tensor.ir.loop_ir import (
    Allocate,
    Barrier,
    Block,
    Guard,
    Loop,
    LoopProgram,
    Statement,
    Store,
)
from tilewright_tensor.ir.network_program import KernelCall, NetworkBuffer, NetworkProgram
from tilewright_tensor.kernels.shared_object import SharedObject

COUNT = 40
I = Var("i")
PLACE = (index(I),)
DTYPES = tuple(Dialect.types)

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


def _compiled(module: CModule, folder: Path) -> SharedObject:
    made = folder / "code.so"
    flags = ["-std=c11", "-O1", "-fwrapv", "-fPIC", "-shared", "-w"]
    command = ["cc", *flags, "-x", "c", "-", "-o", made, "-lm"]
    done = subprocess.run(command, input=module.text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return SharedObject(made.read_bytes(), module.operands, module.scratch_bytes)


def _run(module: CModule, folder: Path, arrays: Sequence[Any]) -> list[Any]:
    outputs = [np.full(shape, 1, dtype) for shape, dtype in module.operands[len(arrays) :]]
    kernel = _compiled(module, folder)
    try:
        kernel.bind([*arrays, *outputs], {})
        kernel.launch()
        assert kernel.find_overrun() == ""
        return [kernel.read(len(arrays) + n) for n in range(len(outputs))]
    finally:
        kernel.close()


def _values(dtype: str, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(COUNT) < 0.5
    if dtype.startswith("float"):
        odd = [0.5, 1.5, -2.5, np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, 3e9, -3e9, 1e19, 255.7]
        return np.array([*rng.permutation(odd), *rng.normal(0, 3, COUNT - len(odd))], dtype)
    low, high = limits(dtype)
    odd = [0, 1, low, high, high - 1, 0 if low == 0 else -1]
    rest = rng.integers(max(low, -100), 100, COUNT - len(odd))
    return rng.permutation(np.array([*odd, *rest.tolist()], dtype))


def _cases() -> list[tuple[str, Value, str]]:
    """(name, value, dtype of the result) over inputs `a_DTYPE` and `b_DTYPE`."""
    found: list[tuple[str, Value, str]] = []
    compared = ("lt", "le", "gt", "ge", "eq", "ne")
    for dtype in DTYPES:
        a, b = (Load(Buffer(f"{side}_{dtype}", (COUNT,), dtype), PLACE) for side in "ab")
        floating, logical = dtype.startswith("float"), dtype == "bool"
        names = {*OPERATIONS, "select", "cast"} - {*compared, "and", "or", "not", "select", "cast"}
        names -= {"shl", "shr"}  # by as many bits as there are at most
        if floating:
            names -= {"quo", "mod", "bitand", "bitor", "bitxor"}
        elif logical:
            names = {"and", "or", "not", "max", "min"}
        else:
            names -= {"exp", "expm1", "log", "log1p", "sqrt", "tanh", "erf", "sin", "cos", "pow"}
            names -= {"floor", "ceil", "round"}
        found += [
            (f"{name}_{dtype}", Op(name, (a, b)[: OPERATIONS[name]], dtype), dtype)
            for name in sorted(names)
        ]
        found += [(f"{name}_{dtype}", Op(name, (a, b), "bool"), "bool") for name in compared]
        chosen = Op("select", (lt(a, b), a, b), dtype)
        found.append((f"select_{dtype}", chosen, dtype))
        found += [(f"cast_{dtype}_{to}", cast(a, to), to) for to in DTYPES if to != dtype]
        if not logical:
            low, high = limits(dtype)
            for name, number in (("least", low), ("most", high)):
                found.append((f"{name}_{dtype}", Const(number, dtype), dtype))
    at = index(I)
    for name, place in (
        ("index", at * 3 + 1),
        ("quotient", floor_div(5 - at, 4)),
        ("rest", mod(5 - at, 4)),
        ("found", floor_div(5 - lookup(Load(Buffer("a_int32", (COUNT,), "int32"), PLACE), 9), 4)),
    ):
        found.append((name, IndexValue(place), "int64"))
    return found


@needs_cc
def test_every_operation_in_every_dtype_agrees_with_the_interpreter(tmp_path):
    cases = _cases()
    inputs = tuple(Buffer(f"{side}_{dtype}", (COUNT,), dtype) for dtype in DTYPES for side in "ab")
    outputs = tuple(Buffer(f"out_{name}", (COUNT,), dtype) for name, _, dtype in cases)
    nests: list[Statement] = [
        Loop(I, COUNT, "vectorized", Store(output, PLACE, value))
        for output, (_, value, _) in zip(outputs, cases, strict=True)
    ]
    program = LoopProgram("values", inputs, outputs, Block(tuple(nests)))
    arrays = [_values(buffer.dtype, seed) for seed, buffer in enumerate(inputs)]
    results = _run(program_module(program), tmp_path, arrays)
    with np.errstate(all="ignore"):
        expected = interpret(program, arrays)
    assert len(cases) > 250
    for buffer, got, wanted in zip(outputs, results, expected, strict=True):
        rtol = {"float32": 2e-6, "float64": 1e-14}.get(buffer.dtype, 0)
        np.testing.assert_allclose(got, wanted, rtol=rtol, err_msg=buffer.name)


def _doubled(name: str, source: Buffer, target: Buffer) -> LoopProgram:
    """Twice the source, by scratch and by workspace, in loops of every kind."""
    scratch = Buffer("at", (4,), scope="register")
    memory = Buffer("work", (5,), source.dtype)
    v, w = Var("at"), Var("int")
    first = Allocate(
        scratch,
        Block((
            Loop(v, 4, "unrolled", Store(scratch, (index(v),), Load(source, (index(v),)))),
            Loop(w, 4, "parallel", Store(memory, (index(w),), Load(scratch, (index(w),)))),
        )),
    )  # fmt: skip
    again = Load(memory, (index(I),)) + Load(memory, (index(I),))
    second = Loop(I, 8, "serial", Guard(((index(I), 4),), Store(target, PLACE, again)))
    return LoopProgram(name, (source,), (target,), Block((first, second)), (memory,))


@needs_cc
def test_a_network_calls_each_distinct_kernel_over_one_arena(tmp_path):
    x, y = Buffer("x", (4,)), Buffer("y", (4,))
    program = _doubled("twice", x, y)
    network = NetworkProgram(
        "fourfold",
        (
            NetworkBuffer("in", (4,), "float32", "input"),
            NetworkBuffer("mid", (4,), "float32", "intermediate", 64),
            NetworkBuffer("out", (4,), "float32", "output"),
        ),
        (KernelCall("one", program, ("in", "mid")), KernelCall("two", program, ("mid", "out"))),
        arena_bytes=128,
        constant_bytes=0,
    )
    module = network_module(network)
    assert module.text.count("static void kernel") == 1
    assert module.scratch_bytes == 128 + 64
    data = np.arange(4, dtype=np.float32)
    empty = np.zeros((0,), np.uint8)
    np.testing.assert_array_equal(_run(module, tmp_path, [data, empty])[0], data * 4)


def test_a_target_says_what_stands_before_loops():
    class Threaded(CFunction):
        pragmas = {"parallel": "#pragma omp parallel for"}

    program = _doubled("twice", Buffer("x", (4,)), Buffer("y", (4,)))
    assert program_module(program).text.count("#pragma") == 0
    lines = [line.strip() for line in program_module(program, Threaded).text.splitlines()]
    place = lines.index("#pragma omp parallel for")
    assert lines[place + 1] == "for (int int_2 = 0; int_2 < 4; ++int_2) {"


def test_a_variable_and_a_buffer_of_one_name_have_two():
    x = Buffer("x", (4,))
    i = Var("x")
    body = Loop(i, 4, "serial", Store(Buffer("y", (4,)), (index(i),), Load(x, (index(i),))))
    text = program_module(LoopProgram("copy", (x,), (Buffer("y", (4,)),), body)).text
    assert "y[x_2] = x[x_2];" in text


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (Barrier(), "a processor has no Barrier"),
        (Loop(I, 4, "threadIdx.x", Store(Buffer("y", (4,)), PLACE, Const(1.0))), r"threadIdx\.x"),
        (Store(Buffer("y", (4,), "float16"), (index(0),), Const(1.0, "float16")), "float16"),
    ],
)
def test_what_is_no_plain_c_is_refused(body, message):
    with pytest.raises(ValueError, match=message):
        program_module(LoopProgram("no", (), (Buffer("y", (4,)),), body))
