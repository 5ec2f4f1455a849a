"""What schedules for GPUs ask of lowering: kept threads, folded registers, padded rows, barriers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright_tensor.evaluation.interpret import interpret
from tilewright_tensor.expressions.affine import Affine, FloorDiv, Mod, Var
from tilewright_tensor.expressions.simplify_div_mod import simplify_div_mod
from tilewright_tensor.ir.dag import Dag, compute, placeholder, reduce_axis, reduce_sum
from tilewright_tensor.ir.loop_ir import Allocate, Barrier, Block, Loop, walk
from tilewright_tensor.lowering.lower import lower
from tilewright_tensor.lowering.verify import verify
from tilewright_tensor.schedule.schedule import Schedule


def scratch(program: Any) -> dict[str, tuple[int, ...]]:
    found = (one for one in walk(program.body) if isinstance(one, Allocate))
    return {one.buffer.name: one.buffer.shape for one in found}


def sums(rows: int, terms: int) -> tuple[Dag, Any]:
    data = placeholder("data", (rows, terms))
    k = reduce_axis(terms, "k")
    total = compute("total", (rows,), lambda n: reduce_sum(data[n, k], k))
    return Dag([total], [data]), np.random.default_rng(0).normal(size=(rows, terms))


def test_threads_are_as_many_as_the_factor_says_however_few_the_elements() -> None:
    dag, _ = sums(5, 3)
    s = Schedule.of(dag).split("total", "n", [8]).bind("total", "n.1", "threadIdx.x")
    program = lower(s, "few")
    loops = [one for one in walk(program.body) if isinstance(one, Loop)]
    assert [loop.extent for loop in loops if loop.kind == "threadIdx.x"] == [8]


def test_elements_of_a_thread_that_lie_apart_are_side_by_side_in_its_registers() -> None:
    data = placeholder("data", (24,))
    double = compute("double", (24,), lambda i: data[i] + data[i])
    result = compute("result", (24,), lambda i: double[i] + 1.0)
    s = Schedule.of(Dag([result], [data])).split("result", "i", [2, 4, 3])
    s = s.reorder("result", ["i.0", "i.2", "i.1", "i.3"]).bind("result", "i.2", "threadIdx.x")
    s = s.unroll("result", "i.1").unroll("result", "i.3")
    s = s.compute_at("double", "result", "i.2", "register").split("double", "i", [3])
    s = s.unroll("double", "i.0").unroll("double", "i.1")
    program = lower(s, "apart")
    assert scratch(program) == {"double": (6,)}
    assert verify(program) == []
    values = np.arange(24, dtype=np.float32)
    assert (interpret(program, [values])[0] == 2 * values + 1).all()


def test_rows_of_scratch_begin_where_storage_align_says() -> None:
    data = placeholder("data", (8, 8))
    copy = compute("copy", (8, 8), lambda i, j: data[i, j] + 1.0)
    turned = compute("turned", (8, 8), lambda i, j: copy[j, i])
    s = Schedule.of(Dag([turned], [data])).split("turned", "i", [8])
    s = s.bind("turned", "i.0", "blockIdx.x")
    s = s.compute_at("copy", "turned", "i.0", "shared").storage_align("copy", 8, 1)
    program = lower(s, "rows")
    assert scratch(program) == {"copy": (8, 9)}
    values = np.arange(64, dtype=np.float32).reshape(8, 8)
    assert (interpret(program, [values])[0] == values.T + 1).all()


def test_a_barrier_stands_between_partial_results_and_who_reads_them_inside() -> None:
    dag, values = sums(4, 64)
    s = Schedule.of(dag).cache_write("total", "register").bind("total", "n", "blockIdx.x")
    total = "total.register"
    s = s.split(total, "k", [16]).rfactor(total, "k.1")
    s = s.split(total, "k.1", [2]).rfactor(total, "k.1.1")
    for part in (f"{total}.rf", f"{total}.rf2"):
        s = s.cache_write(part, "register").bind(part, s.loops(part)[1], "threadIdx.x")
        s = s.compute_at(part, "total", "n", "shared")
        s = s.compute_at(f"{part}.register", part, s.loops(part)[1], "register")
    program = lower(s.compute_at(total, "total", "n", "shared"), "tree")
    (nest,) = (one for one in walk(program.body) if isinstance(one, Block) and
               sum(isinstance(part, Barrier) for part in one.statements) > 1)  # fmt: skip
    kinds = "".join("|" if isinstance(one, Barrier) else "." for one in nest.statements)
    # before the first, after either part, and before the last sum is stored
    assert kinds.startswith("|.|.|"), kinds
    (found,) = interpret(program, [values.astype(np.float32)])
    assert np.allclose(found, values.sum(1), atol=1e-5)


def test_an_index_that_was_cut_in_three_is_joined_again() -> None:
    v = Affine(((Var("v"), 1),))
    outer = Affine(((FloorDiv(v, 12), 12),))
    middle = Affine(((Mod(Affine(((FloorDiv(v, 3), 1),)), 4), 3),))
    inner = Affine(((Mod(v, 3), 1),))
    assert simplify_div_mod(outer + middle + inner) == v
