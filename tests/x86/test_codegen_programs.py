"""Whole kernels, registers, scratch and threads: x86 code agrees with the interpreter."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from answers import host, task_of
from loop_notation import at, i, loop, op, put

from tilewright.vocabulary.config import ConfigEntity
from tilewright_tensor.expressions.affine import index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Const
from tilewright_tensor.ir.loop_ir import (
    Allocate,
    Barrier,
    Block,
    Guard,
    Loop,
    LoopProgram,
    Prefetch,
    Statement,
)
from tilewright_x86.kernel.jit import assembly
from tilewright_x86.machine.isa import ISAS
from tilewright_x86.text.emit import emit


def conv(width: int, tile: int, vectors: int, out_width: int) -> LoopProgram:
    """3x3 blocked convolution, accumulators in registers, a guarded tail in the output's width."""
    x, w = Buffer("x", (2, 5, out_width + 2, width)), Buffer("w", (vectors, 2, 3, 3, width, width))
    y = Buffer("y", (vectors, 3, out_width, width))
    acc = Buffer("acc", (tile, vectors, width), scope="register")
    here = (i("t"), i("v"), i("lane"))
    column = i("xo") * tile + i("t")

    def tiled(body: Statement) -> Statement:
        inner = loop("v", vectors, loop("lane", width, body, "vectorized"), "unrolled")
        return loop("t", tile, inner, "unrolled")

    def inside(body: Statement) -> Statement:
        return body if out_width % tile == 0 else Guard(((column, out_width),), body)

    product = op(
        "mul",
        at(x, i("c"), i("row") + i("kh"), column + i("kw"), i("ci")),
        at(w, i("v"), i("c"), i("kh"), i("kw"), i("ci"), i("lane")),
    )
    step = tiled(inside(put(acc, here, op("add", at(acc, *here), product))))
    for name, extent, kind in (
        ("ci", width, "unrolled"), ("kw", 3, "serial"), ("kh", 3, "serial"), ("c", 2, "serial"),
    ):  # fmt: skip
        step = loop(name, extent, step, kind)
    out = tiled(
        inside(put(y, (i("v"), i("row"), column, i("lane")), op("max", at(acc, *here), Const(0.0))))
    )
    body = Block((tiled(put(acc, here, Const(0.0))), step, out))
    nest = loop("xo", -(-out_width // tile), Allocate(acc, body))
    return LoopProgram("conv", (x, w), (y,), loop("row", 3, nest, "parallel"))


def softmax(rows: int, columns: int) -> LoopProgram:
    x, y = Buffer("x", (rows, columns)), Buffer("y", (rows, columns))
    top, total = Buffer("top", (1,), scope="register"), Buffer("total", (1,), scope="local")
    e = op("exp", op("sub", at(x, i("r"), i("k")), at(top, 0)))
    body = Block(
        (
            put(top, (0,), Const(float("-inf"))),
            loop("k", columns, put(top, (0,), op("max", at(top, 0), at(x, i("r"), i("k"))))),
            put(total, (0,), Const(0.0)),
            loop("k", columns, put(y, (i("r"), i("k")), e), "vectorized"),
            loop("k", columns, put(total, (0,), op("add", at(total, 0), at(y, i("r"), i("k"))))),
            loop(
                "k",
                columns,
                put(y, (i("r"), i("k")), op("div", at(y, i("r"), i("k")), at(total, 0))),
                "vectorized",
            ),
        )
    )
    nest = Allocate(top, Allocate(total, body))
    return LoopProgram("softmax", (x,), (y,), loop("r", rows, nest, "parallel"))


def guarded_register() -> LoopProgram:
    """A register that only some iterations of a rolled loop change."""
    x, y = Buffer("x", (10,)), Buffer("y", (3,))
    acc = Buffer("acc", (1,), scope="register")
    total = put(acc, (0,), op("add", at(acc, 0), at(x, i("k"))))
    body = Block(
        (
            put(acc, (0,), Const(0.0)),
            loop("k", 10, Guard(((i("k") - i("o") * 2, 5), (-i("k"), -1)), total)),
            put(y, (i("o"),), at(acc, 0)),
        )
    )
    return LoopProgram("guarded", (x,), (y,), loop("o", 3, Allocate(acc, body)))


def register_in_rolled_loop() -> LoopProgram:
    """Cannot be SSA values: the index is known only at run time."""
    x, y = Buffer("x", (7, 5)), Buffer("y", (7, 5))
    row = Buffer("row", (5,), scope="register")
    body = Block(
        (
            loop("k", 5, put(row, (i("k"),), at(x, i("r"), i("k")))),
            loop("k", 5, put(y, (i("r"), i("k")), at(row, index(4) - i("k")))),
        )
    )
    return LoopProgram("rolled", (x,), (y,), loop("r", 7, Allocate(row, body)))


def mixed_slots() -> LoopProgram:
    """A register written as vectors, read element by element, and the other way round."""
    x, y = Buffer("x", (16,)), Buffer("y", (2, 16))
    a, b = Buffer("ra", (16,), scope="register"), Buffer("rb", (16,), scope="register")
    body = Block(
        (
            loop("k", 16, put(a, (i("k"),), at(x, i("k"))), "vectorized"),
            loop("k", 16, put(b, (i("k"),), at(a, index(15) - i("k"))), "unrolled"),
            put(a, (3,), Const(9.0)),
            loop("k", 16, put(y, (0, i("k")), at(b, i("k"))), "vectorized"),
            loop("k", 16, put(y, (1, i("k")), at(a, i("k"))), "vectorized"),
        )
    )
    return LoopProgram("mixed", (x,), (y,), Allocate(a, Allocate(b, body)))


def through_workspace() -> LoopProgram:
    x, y = Buffer("x", (6, 37)), Buffer("y", (6, 37))
    w, other = Buffer("w", (37,)), Buffer("other", (6, 37))
    negated = op("neg", at(x, i("o"), i("k")))
    body = Block(
        (
            loop("k", 37, put(w, (i("k"),), negated), "parallel"),
            loop("k", 37, put(other, (i("o"), i("k")), at(w, i("k"))), "parallel"),
            Prefetch(x, (i("o") + 1, index(0)), 128),
            loop(
                "k",
                37,
                put(y, (i("o"), i("k")), op("mul", at(other, i("o"), i("k")), at(w, i("k")))),
                "vectorized",
            ),
        )
    )
    return LoopProgram("workspace", (x,), (y,), loop("o", 6, body), workspace=(w, other))


def shared_scratch() -> LoopProgram:
    """A parallel loop inside a serial one that reads scratch allocated outside of it."""
    x, y = Buffer("x", (4, 40)), Buffer("y", (4, 40))
    row, one = Buffer("row", (40,), scope="local"), Buffer("one", (1,), scope="register")
    body = Block(
        (
            put(one, (0,), Const(3.0)),
            loop("k", 40, put(row, (i("k"),), at(x, i("o"), i("k"))), "vectorized"),
            loop(
                "k",
                40,
                put(y, (i("o"), i("k")), op("mul", at(row, index(39) - i("k")), at(one, 0))),
                "parallel",
            ),
        )
    )
    return LoopProgram("scratch", (x,), (y,), loop("o", 4, Allocate(row, Allocate(one, body))))


PROGRAMS = {
    "conv": conv(16, 3, 2, 6),
    "conv with a tail": conv(8, 4, 1, 7),
    "conv of odd width": conv(5, 2, 2, 4),
    "softmax": softmax(3, 37),
    "guarded register": guarded_register(),
    "register in a rolled loop": register_in_rolled_loop(),
    "mixed slots": mixed_slots(),
    "workspace": through_workspace(),
    "shared scratch": shared_scratch(),
}


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_code_agrees_with_the_interpreter(name: str, isa: str, agree: Callable[..., None]) -> None:
    agree(PROGRAMS[name], isa)


@pytest.mark.parametrize("name", ["conv", "softmax", "workspace", "shared scratch"])
@pytest.mark.parametrize("threads", [2, 3])
def test_threads_do_not_change_the_answer(
    name: str, threads: int, run_x86: Callable[..., Any], random_inputs: Callable[..., Any]
) -> None:
    program = PROGRAMS[name]
    inputs = random_inputs(program)
    for mine, other in zip(
        run_x86(program, inputs, threads=threads), run_x86(program, inputs), strict=True
    ):
        assert np.array_equal(mine, other)


def test_registers_carry_the_sums_and_the_product_is_fused() -> None:
    text = emit(PROGRAMS["conv"], ISAS[0], 1).module
    assert "alloca" not in text
    assert "llvm.fma.v16f32" in text
    assert "fmul" not in text


def test_loops_from_0_do_not_multiply_their_counters() -> None:
    """The port of integer multiplications is one of vector ones, which addresses would wait for."""
    rows_of_102_pixels = conv(16, tile=4, vectors=2, out_width=100)
    text = assembly(emit(rows_of_102_pixels, ISAS[0], 1).module, ISAS[0])
    assert "vfmadd" in text
    assert "imul" not in text


def folded(operation: str, lanes: int) -> LoopProgram:
    """y[row] = 0.5 and then all of x[row], one after the other, out of a register."""
    x, y = Buffer("x", (3, lanes)), Buffer("y", (3,))
    held = Buffer("held", (lanes,), scope="register")
    combined = put(y, (i("o"),), op(operation, at(y, i("o")), at(held, i("k"))))
    body = Block(
        (
            loop("lane", lanes, put(held, (i("lane"),), at(x, i("o"), i("lane"))), "vectorized"),
            put(y, (i("o"),), Const(0.5)),
            loop("k", lanes, combined, "unrolled"),
        )
    )
    return LoopProgram("folded", (x,), (y,), loop("o", 3, Allocate(held, body)))


@pytest.mark.parametrize(
    ("operation", "expected"),
    [("add", np.sum), ("mul", np.prod), ("max", np.max), ("min", np.min)],
)
@pytest.mark.parametrize("lanes", [4, 7, 8, 16])
def test_a_reduction_over_lanes_is_right_with_numbers_and_without(
    operation: str,
    expected: Callable[..., Any],
    lanes: int,
    isa: str,
    run_x86: Callable[..., Any],
) -> None:
    x = np.random.default_rng(0).uniform(-2, 2, (3, lanes)).astype(np.float32)
    x[1, lanes // 2], x[2, -1] = np.nan, -np.inf
    (got,) = run_x86(folded(operation, lanes), [x], isa)
    start = np.full((3, 1), 0.5, np.float32)
    np.testing.assert_allclose(got, expected(np.hstack([start, x]), axis=1), rtol=2e-6)


def test_an_unrolled_loop_may_add_the_same_element_again_and_again(
    isa: str, agree: Callable[..., None]
) -> None:
    x, y = Buffer("x", ()), Buffer("y", ())
    again = loop("k", 4, put(y, (), op("add", at(y), at(x))), "unrolled")
    agree(LoopProgram("again", (x,), (y,), Block((put(y, (), Const(0.5)), again))), isa)


def test_lanes_of_a_register_are_reduced_by_halves() -> None:
    text = emit(folded("add", 16), ISAS[0], 1).module
    assert text.count("extractelement") == 2
    assert text.count("shufflevector") == 2 * 3


def test_a_program_of_another_kind_of_target_is_refused() -> None:
    y = Buffer("y", (4,))
    program = LoopProgram(
        "gpu", (), (y,), loop("k", 4, put(y, (i("k"),), Const(0.0)), "threadIdx.x")
    )
    with pytest.raises(ValueError, match=r"threadIdx\.x"):
        emit(program, ISAS[0], 1)
    with pytest.raises(ValueError, match="barrier"):
        emit(LoopProgram("gpu", (), (y,), Barrier()), ISAS[0], 1)


def test_local_memory_beyond_the_stack_is_refused() -> None:
    y, big = Buffer("y", (4,)), Buffer("big", (4 << 20,), scope="local")
    body = Allocate(big, put(y, (0,), Const(0.0)))
    with pytest.raises(ValueError, match="stack"):
        emit(LoopProgram("big", (), (y,), body), ISAS[0], 1)


def test_scratch_lies_where_scratch_was_that_is_gone(isa: str, agree: Callable[..., None]) -> None:
    """Two together would not fit the stack, and what lives at once must not share."""
    x, y = Buffer("x", (4,)), Buffer("y", (4,))
    parts = []
    for name in ("one", "two"):
        big, few = (
            Buffer(name, (900_000,), scope="local"),
            Buffer(f"{name}.few", (4,), scope="local"),
        )
        k, j = i(f"{name}.k"), i(f"{name}.j")
        fill = loop(f"{name}.k", 4, Block((put(big, (k,), at(x, k)), put(few, (k,), at(y, k)))))
        both = op("add", at(big, j), at(few, j))
        parts.append(
            Allocate(big, Allocate(few, Block((fill, loop(f"{name}.j", 4, put(y, (j,), both))))))
        )
    clear = loop("c", 4, put(y, (i("c"),), Const(1.0)))
    agree(LoopProgram("shared", (x,), (y,), Block((clear, *parts))), isa)


_TWICE = """
import sys
from pathlib import Path
import numpy as np
from trapped_tiles import compiled_trap, trap_tiles
from tilewright_x86.machine.processor import processor_features
features = processor_features()
if "amx-tile" not in features:
    library = compiled_trap(Path(sys.argv[1])) if "avx512bf16" in features else None
    if library is None:
        sys.exit(77)
    trap_tiles(library)
from test_codegen_programs import products_twice
from tilewright.vocabulary.target import Target
from tilewright_tensor.evaluation.interpret import interpret
from tilewright_x86.backend import X86Backend
backend, target = X86Backend(), Target.parse("x86:isa=amx,threads=2")
program = products_twice()
rng = np.random.default_rng(0)
arrays = [rng.integers(0, 100, b.shape).astype(b.dtype) for b in program.inputs]
made = [np.zeros(b.shape, b.dtype) for b in program.outputs]
kernel = backend.load(backend.build(program, target), backend.probe()[0])
kernel.bind([*arrays, *made], {})
kernel.launch()
np.testing.assert_array_equal(kernel.read(len(arrays)), interpret(program, arrays)[0])
"""


def products_twice() -> LoopProgram:
    """A product by AMX in parallel, and again on the thread that called the others."""
    task = task_of("matmul_integer(64x64:uint8, 64x32:int8)", "x86:isa=amx,threads=2")
    values = {"tile_rows": 2, "tile_columns": 2, "outer": "rows"}
    program = host().lower(task, ConfigEntity("products_in_tiles.x86", values))
    assert isinstance(program.body, Loop)
    again = replace(program.body, kind="serial")
    return replace(program, body=Block((program.body, again)))


def test_tiles_are_configured_again_where_a_parallel_loop_gave_them_back(tmp_path: Path) -> None:
    text = emit(products_twice(), next(isa for isa in ISAS if isa.name == "amx"), 2).module
    _, _, behind = text.partition("call void @tw_parallel_for")
    first = re.search(r"@llvm\.x86\.(ldtilecfg|tile\w+|tdp\w+)", behind)
    assert first
    assert first[1] == "ldtilecfg"
    folder = Path(__file__).parent
    command = [sys.executable, "-c", _TWICE, str(tmp_path)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 77), done.stderr
