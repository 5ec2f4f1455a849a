"""The interpreter follows a loop program to the letter."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright_tensor.evaluation.interpret import interpret
from tilewright_tensor.expressions.affine import Affine, Var
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Const, IndexValue, Load, cast, lt, select
from tilewright_tensor.expressions.lookup import lookup
from tilewright_tensor.ir.loop_ir import Allocate, Barrier, Block, Guard, Loop, LoopProgram, Store

A, B = Buffer("a", (6,)), Buffer("b", (6,))
I, J = Var("i"), Var("j")


def at(var, constant=0, scale=1):
    return (Affine(((var, scale),), constant),)


def run(body, values=range(6)):
    return interpret(LoopProgram("kernel", (A,), (B,), body), [np.array(values, np.float32)])[
        0
    ].tolist()


def test_what_is_not_written_is_poisoned():
    assert np.isnan(run(Loop(I, 5, "serial", Store(B, at(I), Load(A, at(I)))))[5])


def test_an_access_outside_is_an_error():
    with pytest.raises(IndexError, match="a: dimension 0 has extent 6"):
        run(Loop(I, 6, "serial", Store(B, at(I), Load(A, at(I, 1)))))


def test_the_side_of_a_select_not_taken_is_not_read():
    value = select(lt(IndexValue(*at(I)), 5), Load(A, at(I, 1)), 9.0)
    assert run(Loop(I, 6, "vectorized", Store(B, at(I), value))) == [1, 2, 3, 4, 5, 9]


def test_a_store_that_reads_its_neighbour_runs_in_order():
    body = Block((
        Store(B, (Affine(),), Const(1.0)),
        Loop(I, 5, "serial", Store(B, at(I, 1), Load(B, at(I)) + Load(B, at(I)))),
    ))  # fmt: skip
    assert run(body) == [1, 2, 4, 8, 16, 32]


def test_the_last_write_to_an_element_wins():
    index = (Affine(((I, 1), (J, 1))),)
    value = cast(IndexValue(Affine(((I, 1),))), "float32")
    body = Loop(I, 3, "serial", Loop(J, 4, "serial", Store(B, index, value)))
    assert run(body) == [0, 1, 2, 2, 2, 2]


def test_guards_hold_back_their_body():
    body = Loop(I, 6, "serial", Block((
        Store(B, at(I), Const(0.0)),
        Guard(((at(I)[0], 4), (at(I, 0, -1)[0], -1)), Store(B, at(I), Const(1.0))),
    )))  # fmt: skip
    assert run(body) == [0, 0, 1, 1, 0, 0]


@pytest.mark.parametrize(
    "between", [[], [Store(B, at(I), Const(3.0))]], ids=["at once", "in order"]
)
def test_guards_may_depend_on_what_is_in_memory(between):
    found = lookup(cast(lt(Load(A, at(I)), 3.0), "int64"), 2)
    cleared = Loop(I, 6, "serial", Store(B, at(I), Const(0.0)))
    guard = Guard(((-found, 0),), Store(B, at(I), Const(1.0)))
    body = Block((cleared, Loop(I, 6, "serial", Block((*between, guard)) if between else guard)))
    after = 3 if between else 0
    assert run(body, [2, 5, 1, 3, 4, 0]) == [1, after, 1, after, after, 1]


def threads(*statements):
    shared = Buffer("s", (6,), scope="shared")
    write = Store(shared, at(I), Load(A, at(I)))
    read = Store(B, at(I), Load(shared, at(I, 5, -1)))
    return Loop(I, 6, "threadIdx.x", Allocate(shared, Block((write, *statements, read))))


def test_threads_see_what_others_wrote_before_the_barrier():
    assert run(threads(Barrier())) == [5, 4, 3, 2, 1, 0]


def test_without_the_barrier_they_do_not():
    assert np.isnan(run(threads())).any()


def test_a_barrier_that_some_threads_miss_is_an_error():
    with pytest.raises(RuntimeError, match="3 of 6 threads do not reach a barrier"):
        run(threads(Guard(((at(I)[0], 3),), Barrier())))


def test_inputs_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"a: expected float32\(6,\), got float32\(5,\)"):
        run(Store(B, at(I), Const(0.0)), range(5))
