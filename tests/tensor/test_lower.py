"""Lowering: every primitive keeps the answer, on odd sizes, against a reference evaluation in float64."""

from __future__ import annotations

import gc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright_tensor.expressions.expr import exp, ge, logical_and, lt, maximum, select
from tilewright_tensor.ir.dag import Dag, compute, placeholder, reduce_axis, reduce_max, reduce_sum
from tilewright_tensor.ir.loop_ir import Loop
from tilewright_tensor.lowering.lower import lower
from tilewright_tensor.lowering.verify import verify
from tilewright_tensor.schedule.schedule import Schedule


def matmul(m, n, k):
    a, b, axis = placeholder("a", (m, k)), placeholder("b", (k, n)), reduce_axis(k, "k")
    c = compute("c", (m, n), lambda i, j: reduce_sum(a[i, axis] * b[axis, j], axis))
    return Dag([compute("d", (m, n), lambda i, j: maximum(c[i, j], 0.0))])


def register_tiled(m, n, k, rows, lanes, vectors):
    s = Schedule.of(matmul(m, n, k)).split("d", "i", [rows]).split("d", "j", [vectors, lanes])
    s = s.reorder("d", ["i.0", "j.0", "i.1", "j.1", "j.2"])
    s = (
        s.unroll("d", "i.1")
        .unroll("d", "j.1")
        .vectorize("d", "j.2")
        .compute_at("c", "d", "j.0", "register")
    )
    s = s.split("c", "j", [lanes]).reorder("c", ["k", "i", "j.0", "j.1"])
    return s.unroll("c", "i").unroll("c", "j.0").vectorize("c", "j.1")


@pytest.mark.parametrize("size", [(12, 32, 8), (13, 37, 7), (1, 1, 1), (5, 3, 2), (6, 70, 9)])
def test_a_register_tiled_matmul_gives_the_answer(checked, size):
    checked(register_tiled(*size, 4, 8, 2))


def test_an_overhanging_tile_is_peeled_so_that_full_tiles_have_no_guard(checked):
    text = str(checked(register_tiled(13, 32, 7, 4, 8, 2)))
    assert "if " not in text
    assert "d.i.0 in 3:" in text
    assert "register c.tail" in text


def parallel_tiles(m, n, k):
    """Register tiles of 4x16, over all of which threads run."""
    s = Schedule.of(matmul(m, n, k)).split("d", "i", [4]).split("d", "j", [2, 8])
    s = s.reorder("d", ["i.0", "j.0", "i.1", "j.1", "j.2"]).fuse("d", ["i.0", "j.0"])
    s = s.parallel("d", "i.0@j.0").unroll("d", "i.1").unroll("d", "j.1").vectorize("d", "j.2")
    s = s.compute_at("c", "d", "i.0@j.0", "register").split("c", "j", [8])
    s = s.reorder("c", ["k", "i", "j.0", "j.1"])
    return s.unroll("c", "i").unroll("c", "j.0").vectorize("c", "j.1")


@pytest.mark.parametrize(
    ("size", "edges"),
    [((12, 32, 7), 0), ((12, 37, 7), 1), ((13, 32, 7), 1), ((13, 37, 7), 2), ((13, 5, 7), 1)],
)
def test_of_a_parallel_loop_only_the_tiles_that_overhang_are_guarded(checked, size, edges):
    text = str(checked(parallel_tiles(*size)))
    whole, *others = text.split("    if -")
    assert whole.count("if ") == len(others) == edges
    assert all("c.k.edge" in other for other in others)


@pytest.mark.parametrize("size", [(9, 32, 7), (12, 40, 7)])
def test_a_tile_that_overhangs_by_whole_vectors_has_no_guards_either(checked, size):
    _, edge = str(checked(parallel_tiles(*size))).split("    if -")
    assert "if " not in edge


def test_lowering_leaves_nothing_to_search_for_garbage():
    lower(register_tiled(13, 37, 7, 4, 8, 2), "kernel")
    gc.collect()
    gc.disable()
    try:
        lower(register_tiled(13, 37, 7, 4, 8, 2), "kernel")
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_vectorised_tail_keeps_its_guard_inside_the_vector_loop(checked):
    a = placeholder("a", (21,))
    s = (
        Schedule.of(Dag([compute("b", (21,), lambda i: a[i] + 1.0)]))
        .split("b", "i", [8])
        .vectorize("b", "i.1")
    )
    assert str(checked(s)).splitlines()[1:] == [
        "  for b.i.0 in 2:",
        "    vectorized b.i.1 in 8:",
        "      b[b.i.0*8 + b.i.1] = (a[b.i.0*8 + b.i.1] + 1.0)",
        "  vectorized b.i.1.tail in 8:",
        "    if b.i.1.tail + 16 < 21:",
        "      b[b.i.1.tail + 16] = (a[b.i.1.tail + 16] + 1.0)",
    ]


def test_a_guard_of_outer_loops_stands_outside_the_inner_ones(checked):
    a = placeholder("a", (5, 8))
    s = Schedule.of(Dag([compute("b", (5, 8), lambda i, j: a[i, j] + 1.0)]))
    s = s.split("b", "i", [2]).parallel("b", "i.0").vectorize("b", "j")
    assert str(checked(s)).splitlines()[1:5] == [
        "  parallel b.i.0 in 3:",
        "    for b.i.1 in 2:",
        "      if b.i.0*2 + b.i.1 < 5:",
        "        vectorized b.j in 8:",
    ]


def test_a_fused_loop_ends_where_its_guard_would_turn_false(checked):
    a = placeholder("a", (5, 8))
    s = Schedule.of(Dag([compute("b", (5, 8), lambda i, j: a[i, j] + 1.0)]))
    s = s.split("b", "i", [2]).fuse("b", ["i.0", "i.1"]).parallel("b", "i.0@i.1")
    assert str(checked(s)).splitlines()[1] == "  parallel b.i.0@i.1 in 5:"


def test_a_batched_matmul_with_a_transposed_operand_gives_the_answer(checked):
    a, b, k = placeholder("a", (3, 7, 5)), placeholder("b", (3, 11, 5)), reduce_axis(5, "k")
    c = compute("c", (3, 7, 11), lambda n, i, j: reduce_sum(a[n, i, k] * b[n, j, k], k))
    s = Schedule.of(Dag([c])).split("c", "k", [2]).split("c", "i", [3])
    checked(
        s.fuse("c", ["n", "i.0"]).parallel("c", "n@i.0").reorder("c", ["k.0", "i.1", "j", "k.1"])
    )


def test_max_pooling_in_blocks_gives_the_answer(checked):
    a, ry, rx = placeholder("a", (1, 8, 9, 9)), reduce_axis(3, "ry"), reduce_axis(3, "rx")
    pad = compute(
        "pad",
        (1, 8, 11, 11),
        lambda n, c, y, x: select(
            logical_and(ge(y, 1), lt(y, 10), ge(x, 1), lt(x, 10)),
            a[n, c, y - 1, x - 1],
            float("-inf"),
        ),
    )
    pool = compute(
        "pool",
        (1, 8, 5, 5),
        lambda n, c, y, x: reduce_max(pad[n, c, y * 2 + ry, x * 2 + rx], ry, rx),
    )
    s = (
        Schedule.of(Dag([pool]))
        .transform_layout("a", "NCHW4c")
        .transform_layout("pool", "NCHW4c")
        .inline("pad")
    )
    s = (
        s.split("pool", "c", [4])
        .reorder("pool", ["c.0", "y", "x", "ry", "rx", "c.1"])
        .vectorize("pool", "c.1")
    )
    checked(s)


def softmax():
    a, k, m = placeholder("a", (5, 11)), reduce_axis(11, "k"), reduce_axis(11, "m")
    top = compute("top", (5,), lambda i: reduce_max(a[i, k], k))
    e = compute("e", (5, 11), lambda i, j: exp(a[i, j] - top[i]))
    total = compute("total", (5,), lambda i: reduce_sum(e[i, m], m))
    return Dag([compute("out", (5, 11), lambda i, j: e[i, j] / total[i])])


def test_softmax_gives_the_answer_stage_by_stage_and_row_by_row(checked):
    s = Schedule.of(softmax())
    assert [b.name for b in checked(s).workspace] == ["top", "e", "total"]
    for stage in ("total", "e", "top"):
        s = s.compute_at(stage, "out", "i")
    program = checked(s.parallel("out", "i").vectorize("out", "j"))
    assert program.workspace == ()


def test_a_reduction_may_be_inlined_through(checked):
    checked(Schedule.of(softmax()).inline("e"))


def test_a_layout_transform_gives_the_answer(checked):
    a = placeholder("a", (1, 12, 5, 3))
    s = Schedule.of(Dag([compute("b", (1, 12, 5, 3), lambda n, c, y, x: a[n, c, y, x])]))
    s = s.transform_layout("a", "NCHW4c").transform_layout("b", "NCHW6c")
    checked(
        s.split("b", "c", [6]).reorder("b", ["n", "c.0", "y", "x", "c.1"]).vectorize("b", "c.1")
    )


@pytest.mark.parametrize("length", [64, 61, 1])
def test_a_factored_reduction_gives_the_answer(checked, length):
    a, k = placeholder("a", (3, length)), reduce_axis(length, "k")
    s = Schedule.of(Dag([compute("b", (3,), lambda i: reduce_sum(a[i, k], k))]))
    s = s.split("b", "k", [8]).rfactor("b", "k.1").compute_at("b.rf", "b", "i", "register")
    checked(s.reorder("b.rf", ["i", "k.0", "k.1"]).vectorize("b.rf", "k.1").unroll("b", "k.1"))


def test_a_factored_reduction_to_a_scalar_is_shared_by_threads(checked):
    a, k = placeholder("a", (29,)), reduce_axis(29, "k")
    s = Schedule.of(Dag([compute("b", (), lambda: reduce_sum(a[k], k))]))
    s = s.cache_write("b", "register").fuse("b", []).bind("b", "once", "blockIdx.x")
    s = s.split("b.register", "k", [8]).rfactor("b.register", "k.1")
    s = s.bind("b.register.rf", "k.1", "threadIdx.x").reorder("b.register.rf", ["k.1", "k.0"])
    s = s.compute_at("b.register.rf", "b", "once", "shared")
    program = checked(s.compute_at("b.register", "b", "once", "shared"))
    assert "threadIdx.x b.register.rf.k.1 in 8" in str(program)


def test_a_cached_write_and_a_cached_read_give_the_answer(checked):
    s = Schedule.of(matmul(10, 14, 9))
    s = s.cache_write("c", "local").split("c", "i", [3]).compute_at("c.local", "c", "i.0")
    s = s.split("c.local", "k", [4]).reorder("c.local", ["k.0", "i", "k.1", "j"])
    s = s.cache_read("b", "local", ["c.local"]).compute_at("b.local", "c.local", "k.0")
    program = checked(s.vectorize("b.local", "ax1"))
    assert "local b.local: float32[4, 14]" in str(program)


def tiled_for_gpu(m, n, k, tile, step):
    s = Schedule.of(matmul(m, n, k)).split("d", "i", [tile]).split("d", "j", [tile])
    s = (
        s.reorder("d", ["i.0", "j.0", "i.1", "j.1"])
        .bind("d", "i.0", "blockIdx.y")
        .bind("d", "j.0", "blockIdx.x")
    )
    s = (
        s.bind("d", "i.1", "threadIdx.y")
        .bind("d", "j.1", "threadIdx.x")
        .compute_at("c", "d", "j.1", "register")
    )
    s = s.split("c", "k", [step]).reorder("c", ["k.0", "k.1", "i", "j"])
    for name in ("a", "b"):
        copy = f"{name}.shared"
        s = s.cache_read(name, "shared", ["c"]).compute_at(copy, "c", "k.0")
        s = s.bind(copy, "ax0", "threadIdx.y").bind(copy, "ax1", "threadIdx.x")
    return s


@pytest.mark.parametrize("size", [(8, 8, 8), (7, 13, 9), (5, 4, 1)])
def test_bound_threads_with_shared_memory_and_barriers_give_the_answer(checked, size):
    text = str(checked(tiled_for_gpu(*size, 4, 4)))
    if size[2] > 4:
        assert "barrier" in text
        assert "shared a.shared: float32[4, 4]" in text
        assert text.count("threadIdx.x") == 1


def test_more_threads_than_the_block_has_are_refused():
    s = tiled_for_gpu(8, 8, 8, 4, 8)
    with pytest.raises(ValueError, match=r"loop ax1 of a.shared needs 8 threadIdx.x, d.j.1 has 4"):
        lower(s, "kernel")


def test_a_prefetch_stands_where_it_was_asked_for(checked):
    s = (
        Schedule.of(matmul(4, 16, 8))
        .vectorize("c", "j")
        .reorder("c", ["i", "k", "j"])
        .prefetch("c", "k", "b", 256)
    )
    assert "      prefetch b[c.k, 0] + 256 bytes" in str(checked(s)).splitlines()


def test_a_prefetch_with_a_step_goes_on_evenly_from_where_the_loop_begins(checked):
    s = Schedule.of(matmul(4, 16, 8)).reorder("c", ["i", "k", "j"]).prefetch("c", "k", "a", 64, 3)
    assert "      prefetch a[c.i, c.k*3] + 64 bytes" in str(checked(s)).splitlines()
    s = Schedule.of(matmul(4, 16, 3)).split("c", "k", [4]).reorder("c", ["i", "k.0", "k.1", "j"])
    assert "prefetch a[c.i, 0] + 64 bytes" in str(checked(s.prefetch("c", "k.0", "a", 64, 3)))


def test_a_parallel_stage_inside_a_parallel_loop_runs_serially(checked):
    s = Schedule.of(matmul(6, 5, 4)).parallel("c", "i").parallel("d", "i").compute_at("c", "d", "i")
    assert str(checked(s)).count("parallel") == 1


def shuffled(draw, s, stage, kinds):
    """Random splits, an order, a fusion and annotations of a stage, all legal."""
    for _ in range(draw(st.integers(0, 3))):
        loop = draw(st.sampled_from(s.loops(stage)))
        s = s.split(stage, loop, draw(st.lists(st.integers(1, 5), min_size=1, max_size=2)))
    s = s.reorder(stage, draw(st.permutations(s.loops(stage))))
    reductions, loops = s.stages[stage].reductions(), s.loops(stage)
    at = draw(st.integers(0, len(loops) - 1))
    pair = loops[at : at + 2]
    if len(pair) == 2 and len({loop in reductions for loop in pair}) == 1 and draw(st.booleans()):
        s = s.fuse(stage, pair)
    reductions, loops = s.stages[stage].reductions(), s.loops(stage)
    if draw(st.booleans()):
        s = s.unroll(stage, draw(st.sampled_from(loops)))
    if loops[-1] not in reductions and draw(st.booleans()):
        s = s.vectorize(stage, loops[-1])
    kind = draw(st.sampled_from(kinds))
    if kind and loops[0] not in reductions and len(loops) > 1:
        s = s.bind(stage, loops[0], kind)
    return s


def scalar_loops(s, stage):
    return [loop for loop in s.loops(stage) if s.stages[stage].kinds.get(loop) != "vectorized"]


@st.composite
def matmul_schedules(draw):
    s = Schedule.of(matmul(*(draw(st.integers(1, 13)) for _ in range(3))))
    s = shuffled(draw, s, "c", [None])
    s = shuffled(draw, s, "d", [None, "threadIdx.x", "blockIdx.x"])
    if draw(st.booleans()) and (loops := scalar_loops(s, "d")):
        s = s.compute_at("c", "d", draw(st.sampled_from(loops)))
    return s


@settings(max_examples=60, deadline=None, derandomize=True)
@given(matmul_schedules())
def test_random_schedules_of_a_matmul_keep_the_answer(checked, schedule):
    checked(schedule)


@st.composite
def stencil_schedules(draw):
    """A stencil over a scaled input: the producer anywhere inside, reductions included, maybe in shared memory."""
    n, m, r, stride = (draw(st.integers(1, high)) for high in (9, 7, 3, 2))
    a = placeholder("a", ((n - 1) * stride + r, m))
    b = compute("b", a.shape, lambda i, j: a[i, j] * 2.0)
    k, l = reduce_axis(r, "k"), reduce_axis(m, "l")
    c = compute("c", (n, m), lambda i, j: reduce_sum(b[i * stride + k, l] * b[i * stride, j], k, l))
    s = Schedule.of(Dag([c]))
    if draw(st.booleans()):
        s = s.cache_read("b", "local", ["c"])
    s = shuffled(draw, s, "c", [None, "threadIdx.x"])
    for stage in list(s.stages)[-2::-1]:
        s = shuffled(draw, s, stage, [None])
        if loops := scalar_loops(s, "c"):
            scope = draw(st.sampled_from(["local", "shared"]))
            s = (
                s.compute_at(stage, "c", draw(st.sampled_from(loops)), scope)
                if draw(st.booleans())
                else s
            )
    return s


@settings(max_examples=80, deadline=None, derandomize=True)
@given(stencil_schedules())
def test_random_schedules_of_two_stages_keep_the_answer(checked, schedule):
    try:
        lower(schedule, "kernel")
    except ValueError as error:
        assert "reads it outside of this loop" in str(error)
        return
    checked(schedule)


def test_loops_of_extent_one_are_gone():
    program = lower(Schedule.of(matmul(1, 1, 5)), "kernel")
    assert verify(program) == []
    assert str(program).count(" in 5:") == 1
    assert not isinstance(program.body, Loop)
