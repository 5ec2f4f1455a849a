"""Loads and stores of every stride, masked, divided and guarded: x86 code agrees with the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from loop_notation import at, i, loop, op, put

from tilewright_tensor.evaluation.interpret import interpret
from tilewright_tensor.expressions.affine import Affine, index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Const, IndexValue
from tilewright_tensor.ir.loop_ir import Block, Guard, LoopProgram, Statement
from tilewright_x86.machine.isa import ISAS, available
from tilewright_x86.text.emit import emit


def matmul(rows: int, columns: int, depth: int, guard_lanes: bool) -> LoopProgram:
    a, b, c = (
        Buffer("a", (rows, depth)),
        Buffer("b", (depth, columns)),
        Buffer("c", (rows, columns)),
    )
    block = 8 if guard_lanes else columns
    column = i("jo") * block + i("j")

    def inside(body: Statement) -> Statement:
        return Guard(((column, columns),), body) if columns % block else body

    def lanes(body: Statement) -> Statement:
        return loop("j", block, inside(body), "vectorized")

    product = op("mul", at(a, i("row"), i("k")), at(b, i("k"), column))
    body = Block(
        (
            lanes(put(c, (i("row"), column), Const(0.0))),
            loop(
                "k",
                depth,
                lanes(put(c, (i("row"), column), op("add", at(c, i("row"), column), product))),
            ),
        )
    )
    nest = loop("jo", -(-columns // block), body)
    return LoopProgram("matmul", (a, b), (c,), loop("row", rows, nest, "parallel"))


def gather(count: int, source: int, address: Affine, kind: str = "vectorized") -> LoopProgram:
    x, y = Buffer("x", (source,)), Buffer("y", (3, count))
    body = loop("k", count, put(y, (i("o"), i("k")), at(x, address)), kind)
    return LoopProgram("gather", (x,), (y,), loop("o", 3, body))


def scatter(
    count: int, target: tuple[int, ...], indices: tuple[Affine, ...], kind: str
) -> LoopProgram:
    x, y = Buffer("x", (count,)), Buffer("y", target)
    return LoopProgram(
        "scatter", (x,), (y,), loop("k", count, put(y, indices, at(x, i("k"))), kind)
    )


def padded(count: int, low: int, kind: str) -> LoopProgram:
    """`select` whose untaken side would read outside the buffer."""
    x, y = Buffer("x", (4, 9)), Buffer("y", (6, count))
    row, column = i("r") - 1, i("k") - low
    inside = op("and", op("ge", IndexValue(row), Const(0, "int64"), dtype="bool"),
                op("lt", IndexValue(row), Const(4, "int64"), dtype="bool"), dtype="bool")  # fmt: skip
    for test, limit in (("ge", 0), ("lt", 9)):
        inside = op(
            "and",
            inside,
            op(test, IndexValue(column), Const(limit, "int64"), dtype="bool"),
            dtype="bool",
        )
    value = op("select", inside, at(x, row, column), Const(0.0))
    body = loop("k", count, put(y, (i("r"), i("k")), value), kind)
    return LoopProgram("padded", (x,), (y,), loop("r", 6, body))


def store_between_loads() -> LoopProgram:
    x, y = Buffer("x", (20,)), Buffer("y", (20,))
    twice = op("add", at(y, i("k")), at(y, i("k")))
    body = Block(
        (
            loop("k", 20, put(y, (i("k"),), at(x, i("k"))), "vectorized"),
            loop("k", 20, put(y, (i("k"),), twice), "vectorized"),
            loop("k", 20, put(y, (i("k"),), twice), "vectorized"),
            loop("k", 19, put(y, (i("k") + 1,), op("add", at(y, i("k")), at(x, i("k")))), "serial"),
        )
    )
    return LoopProgram("between", (x,), (y,), body)


def sums_in_lanes(address: Affine) -> LoopProgram:
    """A sum over the vectorised loop: lanes depend on each other."""
    x, y, z = Buffer("x", (48,)), Buffer("y", (3,)), Buffer("z", (3,))
    body = Block(
        (
            loop("o", 3, put(y, (i("o"),), Const(0.0))),
            loop(
                "k", 48, put(y, (address,), op("add", at(y, address), at(x, i("k")))), "vectorized"
            ),
            loop("o", 3, put(z, (i("o"),), at(y, i("o")))),
        )
    )
    return LoopProgram("sums", (x,), (z,), body, workspace=(y,))


def fused(count: int, kind: str) -> LoopProgram:
    """One loop over two axes, taken apart by division."""
    x, y = Buffer("x", (count // 6, 6)), Buffer("y", (6, count // 6))
    body = put(y, (i("k") % 6, i("k") // 6), at(x, i("k") // 6, i("k") % 6))
    return LoopProgram("fused", (x,), (y,), loop("k", count, body, kind))


def negative_division() -> LoopProgram:
    y = Buffer("y", (40, 2), "int64")
    shifted = i("k") - 20
    body = Block(
        (
            put(y, (i("k"), 0), IndexValue(shifted // 7)),
            put(y, (i("k"), 1), IndexValue(shifted % 7)),
        )
    )
    return LoopProgram("negative", (), (y,), loop("k", 40, body))


PROGRAMS = {
    "matmul": matmul(5, 33, 7, guard_lanes=False),
    "matmul with guarded lanes": matmul(3, 29, 5, guard_lanes=True),
    "matmul one column": matmul(4, 1, 3, guard_lanes=False),
    "stride 1, misaligned": gather(37, 80, i("k") + i("o") * 3 + 1),
    "stride 2": gather(37, 80, i("k") * 2 + i("o")),
    "stride 2, tight": gather(16, 33, i("k") * 2 + i("o")),
    "stride 3": gather(19, 70, i("k") * 3 + i("o")),
    "stride -1": gather(21, 30, index(25) - i("k") + i("o")),
    "stride 0": gather(21, 3, i("o")),
    "many vectors": gather(1000, 1010, i("k") + i("o")),
    "divided lanes": gather(40, 60, (i("k") + i("o")) // 3),
    "modulo lanes": gather(40, 60, (i("k") + i("o")) % 7 + i("o")),
    "aligned division": gather(64, 60, i("k") // 16 + i("k") % 16 * 3 + i("o")),
    "scatter stride 2": scatter(20, (20, 2), (i("k"), index(1)), "vectorized"),
    "scatter by division": scatter(24, (4, 6), (i("k") // 6, i("k") % 6), "vectorized"),
    "store to one place": scatter(20, (1,), (index(0),), "vectorized"),
    "padding, vector": padded(13, 2, "vectorized"),
    "padding, serial": padded(11, 1, "serial"),
    "padding, unrolled": padded(12, 3, "unrolled"),
    "store between loads": store_between_loads(),
    "sum over lanes": sums_in_lanes(index(1)),
    "sums over lanes": sums_in_lanes(i("k") // 16),
    "fused, serial": fused(42, "serial"),
    "fused, vectorised": fused(48, "vectorized"),
    "negative division": negative_division(),
}


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_code_agrees_with_the_interpreter(name: str, isa: str, agree: Callable[..., None]) -> None:
    agree(PROGRAMS[name], isa)


def test_masked_lanes_read_and_write_nothing_outside(random_inputs: Callable[..., Any]) -> None:
    """Operands end at the end of a page that is followed by one without access."""
    import ctypes
    import mmap

    from tilewright_x86.kernel import jit
    from tilewright_x86.kernel.loader import Loaded

    page = mmap.PAGESIZE
    libc = ctypes.CDLL(None)
    for program in (
        PROGRAMS["matmul with guarded lanes"],
        PROGRAMS["stride 2, tight"],
        PROGRAMS["padding, vector"],
    ):
        arrays = random_inputs(program)
        arrays += [np.zeros(b.shape, b.dtype) for b in program.outputs]
        kept, pointers = [], (ctypes.c_void_p * len(arrays))()
        for position, array in enumerate(arrays):
            memory = mmap.mmap(-1, 2 * page)
            start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
            assert libc.mprotect(ctypes.c_void_p(start + page), page, 0) == 0
            ctypes.memmove(start + page - array.nbytes, array.ctypes.data, array.nbytes)
            pointers[position] = start + page - array.nbytes
            kept.append(memory)
        text = (
            emit(program, available()[0], 1)
            .module.replace("align 64", "align 4")
            .replace("align 32", "align 4")
        )
        code = Loaded([jit.compile_object(text, available()[0])])
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address("kernel"))(pointers)
        for position, array in enumerate(arrays[len(program.inputs) :], len(program.inputs)):
            got = np.empty_like(array)
            ctypes.memmove(got.ctypes.data, pointers[position], array.nbytes)
            expected = interpret(program, arrays[: len(program.inputs)])
            np.testing.assert_allclose(
                got, expected[position - len(program.inputs)], rtol=1e-5, atol=1e-6
            )
        code.close()


def test_a_vector_of_which_lanes_are_what_was_there_is_stored_whole() -> None:
    from tilewright_x86.kernel import jit

    best, other = Buffer("best", (64,)), Buffer("other", (64,))
    here = (i("j"),)
    least = op(
        "select",
        op("lt", at(other, *here), at(best, *here), dtype="bool"),
        at(other, *here),
        at(best, *here),
    )
    program = LoopProgram(
        "least", (other,), (best,), loop("j", 64, put(best, here, least), "vectorized")
    )
    (avx2,) = (isa for isa in ISAS if isa.name == "avx2")
    assert "vmaskmov" not in jit.assembly(emit(program, avx2, 1).module, avx2)
