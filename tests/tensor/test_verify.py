"""The verifier finds what is planted in a well-formed program."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tilewright_tensor.expressions.affine import Affine, Var
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Const, IndexValue, Load, cast, lt, select
from tilewright_tensor.expressions.lookup import lookup
from tilewright_tensor.ir.dag import placeholder
from tilewright_tensor.ir.loop_ir import Allocate, Barrier, Block, Guard, Loop, LoopProgram, Store
from tilewright_tensor.lowering.verify import verify

A, B = Buffer("a", (8,)), Buffer("b", (8,))
I = Var("i")
AT = (Affine(((I, 1),)),)
COPY = Store(B, AT, Load(A, AT))
NEXT = (Affine(((I, 1),), 1),)


def kernel(body, kind="serial", extent=8):
    return LoopProgram("kernel", (A,), (B,), Loop(I, extent, kind, body))


def test_a_sound_program_passes():
    assert verify(kernel(COPY)) == []
    assert verify(kernel(Guard(((NEXT[0], 8),), Store(B, AT, Load(A, NEXT))))) == []
    lazily = select(lt(IndexValue(NEXT[0]), 8), Load(A, NEXT), 0.0)
    assert verify(kernel(Store(B, AT, lazily))) == []


REGISTER = Buffer("r", (8,), scope="register")
FILLED = Allocate(
    REGISTER, Block((Store(REGISTER, AT, Const(0.0)), Store(B, AT, Load(REGISTER, AT))))
)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (kernel(Store(B, AT, Load(A, NEXT))), "a: dimension 0, index i + 1 may lie outside of 0 .. 7"),
        (
            kernel(Store(B, AT, cast(IndexValue(lookup(cast(Load(A, NEXT), "int64"), 8)), "float32"))),
            "a: dimension 0, index i + 1 may lie outside of 0 .. 7",
        ),
        (kernel(COPY, extent=9), "index i may lie outside"),
        (kernel(Store(B, AT, Load(Buffer("c", (8,)), AT))), "c is used where it is not declared"),
        (kernel(Store(B, AT, Load(A, (*AT, *AT)))), "a has 1 dimensions, used with 2 indexes"),
        (kernel(Block((COPY, Store(A, AT, Const(0.0))))), "input a is written"),
        (kernel(Loop(Var("j"), 2, "serial", Allocate(B, COPY))), "two buffers are named b"),
        (kernel(Store(B, AT, Load(A, (Affine(((Var("z"), 1),)),)))), "z is used outside of its loop"),
        (kernel(Loop(I, 8, "serial", COPY)), "two loops around each other are named i"),
        (kernel(FILLED), "register r: index i varies with i, which is not unrolled"),
        (kernel(Loop(Var("j"), 2, "serial", COPY), "vectorized"), "vectorised loop i holds a loop"),
        (kernel(Loop(Var("j"), 2, "parallel", COPY), "parallel"), "parallel loop j is inside another one"),
        (
            kernel(Loop(Var("j"), 2, "threadIdx.x", COPY), "threadIdx.x"),
            "loop j is bound to threadIdx.x inside another such loop",
        ),
        (
            kernel(Guard(((AT[0], 4),), Block((COPY, Barrier()))), "threadIdx.x"),
            "a barrier is inside the guard i < 4",
        ),
        (kernel(Store(B, AT, placeholder("t", (8,))[0])), "a read of tensor t is left"),
        (replace(kernel(COPY), workspace=(Buffer("w", (1,)),)), "workspace w is never written"),
        (replace(kernel(COPY), outputs=(B, Buffer("c", (1,)))), "output c is never written"),
        (replace(kernel(COPY), inputs=(A, A)), "two buffers are named a"),
    ],
)  # fmt: skip
def test_a_planted_fault_is_found(program, message):
    assert any(message in problem for problem in verify(program)), verify(program)
