"""Steps of sums that add only zeros are guarded, where nothing else happens in them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tilewright_cuda.passes.skipped_steps import skip_zero_steps
from tilewright_tensor.evaluation.interpret import interpret
from tilewright_tensor.expressions.affine import Affine, Var, index
from tilewright_tensor.expressions.buffer import Buffer
from tilewright_tensor.expressions.expr import Const, IndexValue, Load, Op, Value, lt, select
from tilewright_tensor.ir.loop_ir import (
    Allocate,
    Barrier,
    Guard,
    Loop,
    LoopKind,
    LoopProgram,
    Statement,
    Store,
    block,
    walk,
)
from tilewright_tensor.lowering.verify import verify

X, Y = Buffer("x", (12,)), Buffer("y", (4,))
COPY = Buffer("copy", (3,), scope="shared")
THREAD, STEP, TERM = Var("thread"), Var("step"), Var("term")
INPUT = np.arange(1, 13, dtype=np.float32)


def where(at: Affine, limit: int, value: Value) -> Value:
    return select(lt(IndexValue(at), limit), value, 0.0)


def add(value: Value) -> Store:
    at = (index(THREAD),)
    return Store(Y, at, Op("add", (Load(Y, at), value), "float32"))


def program(added: Sequence[Statement], inner: LoopKind = "unrolled") -> LoopProgram:
    """A thread an element: it adds up three copied terms in each of four steps."""
    copied = Store(COPY, (index(THREAD) % 3,), Load(X, (index(STEP) * 3 + index(THREAD) % 3,)))
    terms = Loop(TERM, 3, inner, block(added))
    step = Allocate(COPY, block([Barrier(), copied, Barrier(), terms]))
    start = Store(Y, (index(THREAD),), Const(0.5))
    body = block([start, Loop(STEP, 4, "serial", step)])
    return LoopProgram("sums", (X,), (Y,), Loop(THREAD, 4, "threadIdx.x", body))


TERMS = Load(COPY, (index(TERM),))


def test_a_step_is_guarded_with_its_copies() -> None:
    before = program([add(where(index(STEP), 2, TERMS))])
    after = skip_zero_steps.run(before)
    (guard,) = (one for one in walk(after.body) if isinstance(one, Guard))
    assert guard.conditions == ((index(STEP) - 2, 0),)
    assert [one for one in walk(guard) if isinstance(one, Barrier)]
    assert "select" not in str(after)
    assert verify(after) == []
    assert np.array_equal(interpret(after, [INPUT])[0], interpret(before, [INPUT])[0])


def test_what_varies_inside_of_the_step_is_tested_there() -> None:
    both = where(index(STEP), 2, where(index(TERM) + index(THREAD), 3, TERMS))
    before = program([add(both)])
    after = skip_zero_steps.run(before)
    outer, inner = (one for one in walk(after.body) if isinstance(one, Guard))
    assert outer.conditions == ((index(STEP) - 2, 0),)
    assert inner.conditions == ((index(TERM) + index(THREAD) - 3, 0),)
    assert verify(after) == []
    assert np.array_equal(interpret(after, [INPUT])[0], interpret(before, [INPUT])[0])


@pytest.mark.parametrize(
    "added",
    [
        [add(where(index(THREAD), 2, TERMS))],
        [add(where(index(STEP), 2, TERMS)), add(TERMS)],
        [add(TERMS)],
    ],
    ids=["threads differ", "something else is added", "no condition"],
)
def test_other_steps_are_left_alone(added: Sequence[Statement]) -> None:
    before = program(added)
    assert skip_zero_steps.run(before).body == before.body
