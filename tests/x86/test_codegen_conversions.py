"""Conversions between all pairs of dtypes, divisions that would trap, and what the code calls."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from isa_levels import ROUNDING

from tilewright_tensor.evaluation.interpret import interpret
from tilewright_tensor.expressions.affine import Var, index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.dtype import DTYPES, is_float, limits, numpy_type
from tilewright_tensor.expressions.expr import OPERATIONS, Const, Load, Op
from tilewright_tensor.ir.loop_ir import Block, Guard, Loop, LoopProgram, Store
from tilewright_x86.kernel.jit import assembly
from tilewright_x86.machine.isa import ISAS, Isa
from tilewright_x86.text.emit import emit

COUNT = 57
TINY = 2.0**-126
PLACE = (index(Var("i")),)
THERE = re.compile(r"(exp|expm1|log|log1p|tanh|erf|sin|cos|pow|fmod)f?@PLT")
"""What libm has, which every process has loaded."""


def whole(text: Op, kind: Any) -> Loop:
    """A loop that stores a value, element by element."""
    name = "_".join((text.name, kind, *map(named, text.args), text.dtype))
    store = Store(Buffer(name, (COUNT,), text.dtype), PLACE, text)
    return Loop(Var("i"), COUNT, kind, store)


def named(operand: Load | Const) -> str:
    return operand.buffer.dtype if isinstance(operand, Load) else f"by{operand.value}"


def program_of(values: list[Op]) -> LoopProgram:
    """One that computes all values, in vectorised loops and one by one."""
    loops = [whole(value, kind) for value in values for kind in ("vectorized", "serial")]
    inputs = dict.fromkeys(
        one.buffer for value in values for one in value.args if isinstance(one, Load)
    )
    outputs = tuple(loop.body.buffer for loop in loops)
    return LoopProgram("values", tuple(inputs), outputs, Block(tuple(loops)))


def has(isa: Isa, dtype: str) -> bool:
    return isa.fma or dtype != "float16"


def conversions(isa: Isa) -> LoopProgram:
    dtypes = [dtype for dtype in DTYPES if has(isa, dtype)]
    loads = [Load(Buffer(f"x_{dtype}", (COUNT,), dtype), PLACE) for dtype in dtypes]
    return program_of(
        [Op("cast", (x,), dtype) for x, dtype in product(loads, dtypes) if x.buffer.dtype != dtype]
    )


def special(dtype: str) -> Any:
    """Both sides of every limit, of every halfway point that rounding hangs on, and what is no number."""
    if not is_float(dtype):
        least, greatest = map(int, limits(dtype))
        edges = {
            int(one) for other in DTYPES for one in (0, 1, *limits(other)) if abs(one) < np.inf
        }
        near = {one + step for one in edges for step in (-1, 0, 1)} | {least, greatest}
        return np.array(sorted(one for one in near if least <= one <= greatest), dtype)
    # halfway between float16 numbers and beside it, denormal ones too, and what float32 makes of it
    halves = [1 + 2**-11, 1 + 3 * 2**-11, 2049, 2**-25, 3 * 2**-25, 65520, 2**-14 - 2**-25]
    beside = [one * (1 + step) for one in halves for step in (0, 2**-40, -(2**-40))]
    edges = [float(one) for other in DTYPES for one in limits(other)]
    values = [*beside, *edges, 0.0, 1e-40, 1e-310, 1e300, 3.5e38, 2.5, np.nan]
    with np.errstate(over="ignore"):
        return np.unique(np.array([*values, *(-one for one in values)], numpy_type(dtype)))


@pytest.mark.parametrize("source", DTYPES)
def test_every_conversion_agrees_with_the_interpreter(
    source: str, isa: str, run_x86: Callable[..., Any]
) -> None:
    (level,) = (one for one in ISAS if one.name == isa)
    if not has(level, source):
        pytest.skip("refused, see test_codegen_arithmetic")
    x = Load(Buffer("x", (COUNT,), source), PLACE)
    results = [dtype for dtype in DTYPES if dtype != source and has(level, dtype)]
    program = program_of([Op("cast", (x,), dtype) for dtype in results])
    values = np.resize(special(source), -(-special(source).size // COUNT) * COUNT)
    for part in values.reshape(-1, COUNT):
        with np.errstate(all="ignore"):
            expected = interpret(program, [part])
        for buffer, got, wanted in zip(
            program.outputs, run_x86(program, [part], isa), expected, strict=True
        ):
            if buffer.dtype == "bfloat16":  # numpy does not know its NaN
                got, wanted = got.astype(np.float32), wanted.astype(np.float32)  # noqa: PLW2901
                if isa in ROUNDING:  # by the instruction, vectors have no denormals
                    got, wanted = (np.where(np.abs(x) < TINY, 0, x) for x in (got, wanted))  # noqa: PLW2901
            np.testing.assert_array_equal(got, wanted, err_msg=buffer.name)


@pytest.mark.parametrize("source", DTYPES)
def test_one_lane_that_is_left_of_a_vector_is_all_that_a_conversion_stores(
    source: str, isa: str, run_x86: Callable[..., Any]
) -> None:
    """Known when the code is compiled: LLVM then makes one store of what it was told to mask."""
    (level,) = (one for one in ISAS if one.name == isa)
    if not has(level, source):
        pytest.skip("refused, see test_codegen_arithmetic")
    i, x = index(Var("i")), Load(Buffer("x", (16,), source), PLACE)
    outputs, loops = [], []
    for dtype in (dtype for dtype in DTYPES if has(level, dtype)):
        outputs.append(Buffer(f"y_{dtype}", (64,), dtype))
        store = Store(outputs[-1], (i + 32,), Op("cast", (x,), dtype) if dtype != source else x)
        loops.append(Loop(Var("i"), 16, "vectorized", Guard(((i + 32, 33),), store)))
    program = LoopProgram("one_lane", (x.buffer,), tuple(outputs), Block(tuple(loops)))
    for got in run_x86(program, [np.ones(16, numpy_type(source))], isa):
        wanted = np.full(64, np.nan if is_float(str(got.dtype)) else 77).astype(got.dtype)
        wanted[32] = 1
        np.testing.assert_array_equal(*(np.float64(one) for one in (got, wanted)), str(got.dtype))


@pytest.mark.parametrize("level", ISAS, ids=lambda one: one.name)
def test_the_code_calls_nothing_that_the_process_lacks(level: Isa) -> None:
    values = [loop.body.value for loop in conversions(level).body.statements[::2]]
    for dtype, (name, count) in product(DTYPES, OPERATIONS.items()):
        args = tuple(Load(Buffer(f"{one}_{dtype}", (COUNT,), dtype), PLACE) for one in "ab"[:count])
        if name not in ("select", "cast") and has(level, dtype):
            compares = name in ("lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not")
            values.append(Op(name, args, "bool" if compares else dtype))
    for value in values:
        try:
            kernel = emit(program_of([value]), level, 1)
            text = assembly(kernel.module, level)
        except (ValueError, KeyError):
            continue  # such as the sine of a whole number
        calls = re.findall(r"(?:call|jmp)q?\s+\*?([^.\s]\S*)", text)
        assert all(map(THERE.fullmatch, calls)), (value.name, value.dtype, calls)


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if "int" in dtype])
def test_divisions_that_the_processor_traps_at_give_what_numpy_does(
    dtype: str, isa: str, run_x86: Callable[..., Any]
) -> None:
    least, greatest = map(int, limits(dtype))
    some = np.array([least, least + 1, 0, 1, 7, greatest, -1 if least else 3], dtype)
    a, b = (np.resize(grid, COUNT) for grid in np.meshgrid(some, some))
    loads = tuple(Load(Buffer(name, (COUNT,), dtype), PLACE) for name in "ab")
    known = [(loads[0], Const(number, dtype)) for number in (0, -1 if least else 3)]
    program = program_of(
        [
            Op(name, operands, dtype)
            for operands in (loads, *known)
            for name in ("div", "mod", "quo", "rem")
        ]
    )
    with np.errstate(all="ignore"):
        expected = interpret(program, [a, b])
        np.testing.assert_array_equal(expected[0], a // b)
        np.testing.assert_array_equal(expected[6], np.fmod(a, b))
    for got, wanted in zip(run_x86(program, [a, b], isa), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("name", ["exp", "expm1", "log", "log1p", "tanh", "erf"])
def test_functions_of_float16_are_those_of_float32_rounded(
    name: str, isa: str, run_x86: Callable[..., Any]
) -> None:
    if isa == "sse4":
        pytest.skip("refused, see test_codegen_arithmetic")
    x = np.resize(np.linspace(-9, 9, COUNT), COUNT).astype(np.float16)
    programs = [
        program_of([Op(name, (Load(Buffer("x", (COUNT,), dtype), PLACE),), dtype)])
        for dtype in ("float16", "float32")
    ]
    half, single = (
        run_x86(program, [x.astype(program.inputs[0].dtype)], isa) for program in programs
    )
    np.testing.assert_array_equal(half, np.asarray(single).astype(np.float16))
