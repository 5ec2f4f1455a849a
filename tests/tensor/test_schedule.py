"""Schedules: loop names, steps, and errors that name the argument."""

from __future__ import annotations

import pytest

from tilewright_tensor.ir.dag import Dag, compute, placeholder, reduce_axis, reduce_sum
from tilewright_tensor.lowering.lower import lower
from tilewright_tensor.schedule.schedule import PRIMITIVES, Schedule


def matmul_relu(m=12, n=20, k=8):
    a, b, axis = placeholder("a", (m, k)), placeholder("b", (k, n)), reduce_axis(k, "k")
    c = compute("c", (m, n), lambda i, j: reduce_sum(a[i, axis] * b[axis, j], axis))
    d = compute("d", (m, n), lambda i, j: c[i, j] + 1.0)
    return Dag([d])


@pytest.fixture(name="s")
def _schedule():
    return Schedule.of(matmul_relu())


def test_split_numbers_its_loops_outermost_first(s):
    assert s.split("c", "i", [2, 3]).loops("c") == ("i.0", "i.1", "i.2", "j", "k")
    assert s.split("c", "i", [4]).split("c", "i.1", [2]).loops("c") == (
        "i.0",
        "i.1.0",
        "i.1.1",
        "j",
        "k",
    )


def test_fuse_joins_the_names(s):
    assert s.split("c", "i", [4]).fuse("c", ["i.1", "j"]).loops("c") == ("i.0", "i.1@j", "k")


def test_fuse_of_no_loops_gives_one_that_runs_once(s):
    assert s.fuse("c", []).loops("c") == ("once", "i", "j", "k")


def test_unroll_takes_any_number_of_loops(s):
    several = s.unroll("c", "i", "k")
    assert several.stages == s.unroll("c", "i").unroll("c", "k").stages
    assert Schedule.replay(s.dag, several.steps).stages == several.stages


def test_reorder_moves_the_named_loops_only(s):
    assert s.reorder("c", ["k", "i"]).loops("c") == ("k", "j", "i")


def test_a_primitive_leaves_the_schedule_as_it_was(s):
    s.split("c", "i", [2])
    assert s.loops("c") == ("i", "j", "k")
    assert s.steps == ()


def test_steps_name_every_primitive_used(s):
    t = (
        s.split("c", "i", [2])
        .vectorize("d", "j")
        .compute_at("c", "d", "i", "register")
        .unroll("d", "i")
    )
    assert t.steps == (
        ("split", "c", "i", (2,)),
        ("vectorize", "d", "j"),
        ("compute_at", "c", "d", "i", "register"),
        ("unroll", "d", "i"),
    )
    assert {step[0] for step in t.steps} <= PRIMITIVES.keys()
    assert Schedule.replay(s.dag, t.steps).stages == t.stages


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (
            lambda s: s.split("c", "x", [2]),
            "argument 2, 'loop' of split: no loop named 'x', loops of c are i, j, k",
        ),
        (
            lambda s: s.split("z", "x", [2]),
            "argument 1, 'stage' of split: no stage named 'z', stages are c, d",
        ),
        (
            lambda s: s.split("c", "i", [0]),
            "argument 3, 'factors' of split: expected integers of at least 1",
        ),
        (
            lambda s: s.fuse("c", ["i", "k"]),
            "argument 2, 'loops' of fuse: i, k are not two or more neighbours",
        ),
        (
            lambda s: s.fuse("c", ["j", "k"]),
            "argument 2, 'loops' of fuse: j, k mix reduction and spatial loops",
        ),
        (
            lambda s: s.reorder("c", ["j", "j"]),
            "argument 2, 'loops' of reorder: a loop occurs twice",
        ),
        (
            lambda s: s.vectorize("c", "k"),
            "argument 2, 'loop' of vectorize: 'k' is a reduction, use rfactor",
        ),
        (
            lambda s: s.bind("c", "i", "threadIdx.w"),
            "argument 3, 'thread' of bind: expected one of blockIdx.x",
        ),
        (
            lambda s: s.compute_at("c", "d", "k"),
            "argument 3, 'loop' of compute_at: no loop named 'k'",
        ),
        (
            lambda s: s.compute_at("d", "c", "i"),
            "argument 1, 'stage' of compute_at: d is an output",
        ),
        (
            lambda s: s.compute_at("c", "c", "i"),
            "argument 2, 'consumer' of compute_at: c is inside c",
        ),
        (lambda s: s.inline("c"), "argument 1, 'stage' of inline: c is a reduction"),
        (
            lambda s: s.cache_read("a", "shared", ["d"]),
            "argument 3, 'readers' of cache_read: d does not read 'a'",
        ),
        (
            lambda s: s.rfactor("c", "i"),
            "argument 2, 'loop' of rfactor: 'i' is no reduction loop of c",
        ),
        (
            lambda s: s.compute_at("c", "d", "i").split("d", "i", [2]),
            "'loop' of split: c is computed at 'i'",
        ),
        (
            lambda s: s.prefetch("d", "i", "a", 64),
            "argument 3, 'tensor' of prefetch: d does not read 'a'",
        ),
        (
            lambda s: Schedule.replay(s.dag, [["jump", "c"]]),
            "no primitive named 'jump', there are split, fuse",
        ),
    ],
)
def test_a_wrong_argument_is_named(s, use, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        use(s)


def test_a_stage_read_outside_its_place_is_refused():
    a = placeholder("a", (8,))
    b = compute("b", (8,), lambda i: a[i] + 1.0)
    c = compute("c", (8,), lambda i: b[i] + 1.0)
    d = compute("d", (8,), lambda i: b[i] + c[i])
    with pytest.raises(
        ValueError, match=r"b is computed at d\.i, but c reads it outside of this loop"
    ):
        lower(Schedule.of(Dag([d])).compute_at("b", "d", "i"), "kernel")


def test_prints_its_nests(s):
    assert str(s.compute_at("c", "d", "i").vectorize("d", "j")).splitlines() == [
        "stage c inside d at i, local", "  serial i", "    serial j", "      serial k",
        "stage d", "  serial i", "    vectorized j",
    ]  # fmt: skip
