"""Virtual threads and copies in flight, as the interpreter runs them."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright_tensor.evaluation.interpret import interpret
from tilewright_tensor.expressions.affine import Var, index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Const, Load
from tilewright_tensor.ir.loop_ir import (
    Allocate,
    Barrier,
    Block,
    CopyGroup,
    CopyWait,
    Guard,
    Loop,
    LoopProgram,
    Store,
)
from tilewright_tensor.lowering.verify import verify
from tilewright_tensor.lowering.virtual_threads import without_virtual_threads

A, B = Buffer("a", (8,)), Buffer("b", (8,))
OWN, TILE = Buffer("own", (2,), scope="register"), Buffer("tile", (8,), scope="shared")
t, v, i, j = (Var(name) for name in "tvij")


def put(buffer, at, value):
    return Store(buffer, (index(at),), value)


def of(buffer, at):
    return Load(buffer, (index(at),))


def run(body):
    program = LoopProgram("kernel", (A,), (B,), body)
    assert verify(program) == []
    (result,) = interpret(program, [np.arange(8, dtype=np.float32)])
    return result.tolist()


def _reversed_through_shared_memory():
    """Two virtual threads of two threads: each keeps two values over a barrier."""
    at = v * 4 + t * 2
    steps = Block((
        Loop(i, 2, "unrolled", put(OWN, i, of(A, at + i) + 1.0)),
        Loop(i, 2, "unrolled", put(TILE, at + i, of(OWN, i))),
        Barrier(),
        Loop(j, 2, "unrolled", put(B, at + j, of(TILE, 7 - at - j) + of(OWN, j))),
    ))  # fmt: skip
    inner = Loop(v, 2, "vthread", Allocate(OWN, steps))
    return Allocate(TILE, Loop(t, 2, "threadIdx.x", inner))


def test_virtual_threads_meet_at_barriers_and_keep_their_own_registers():
    expected = [9.0] * 8
    assert run(_reversed_through_shared_memory()) == expected
    assert run(without_virtual_threads(_reversed_through_shared_memory())) == expected


def test_scratch_that_is_alike_in_all_virtual_threads_stays_one():
    alike = Loop(
        v, 3, "vthread",
        Allocate(OWN, Block((put(OWN, 0, Const(2.0)), Barrier(), put(B, v, of(OWN, 0))))),
    )  # fmt: skip
    lowered = without_virtual_threads(alike)
    assert isinstance(lowered, Allocate)
    assert lowered.buffer == OWN


def test_a_program_without_virtual_threads_is_itself():
    body = Block((put(B, 0, Const(1.0)), Loop(i, 3, "serial", put(B, i, Const(1.0)))))
    assert without_virtual_threads(body) is body


def test_virtual_threads_that_part_before_a_barrier_are_an_error():
    body = Loop(v, 2, "vthread", Guard(((index(v), 1),), Block((Barrier(), put(B, v, Const(1.0))))))
    with pytest.raises(ValueError, match="virtual threads v differ"):
        without_virtual_threads(body)


def _copied(*, wait: bool):
    return Allocate(
        TILE,
        Loop(
            t, 8, "threadIdx.x",
            Block((
                CopyGroup(put(TILE, t, of(A, t))),
                *((CopyWait(0),) if wait else ()),
                Barrier(),
                put(B, t, of(TILE, 7 - t)),
            )),
        ),
    )  # fmt: skip


def test_copies_are_there_when_they_were_waited_for():
    assert run(_copied(wait=True)) == [7.0 - n for n in range(8)]


def test_copies_that_nobody_waited_for_have_not_happened():
    assert np.isnan(run(_copied(wait=False))).all()


def test_a_group_of_copies_holds_no_barrier_and_writes_no_operand():
    body = Loop(t, 8, "threadIdx.x", CopyGroup(Block((put(B, t, of(A, t)), Barrier()))))
    problems = verify(LoopProgram("kernel", (A,), (B,), body))
    assert problems == [
        "global b is written by a group of copies",
        "a group of copies holds a barrier",
    ]
