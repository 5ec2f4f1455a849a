"""No two tensors alive together overlap; the bound is the largest live set; plans come near it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright_graph.extraction.memory_plan import ALIGNMENT, Lifetime, plan_memory, rested


@st.composite
def lifetimes(draw) -> list[Lifetime]:
    """What a random network has: each tensor is made at a step of its own and read some steps later."""
    count = draw(st.integers(0, 25))
    return [
        Lifetime(f"t{step}", draw(st.integers(1, 5000)), step, step + draw(st.integers(0, 8)))
        for step in range(count)
    ]


@given(lifetimes())
@settings(max_examples=200, deadline=None)
def test_tensors_alive_together_do_not_overlap(tensors):
    plan = plan_memory(tensors)
    for step in range(40):
        owners: dict[int, str] = {}
        for tensor in tensors:
            if tensor.first <= step <= tensor.last:
                start = plan.offsets[tensor.name]
                lines = range(start // ALIGNMENT, -(-(start + tensor.bytes) // ALIGNMENT))
                assert not owners.keys() & set(lines)
                owners.update(dict.fromkeys(lines, tensor.name))


@given(lifetimes())
@settings(max_examples=200, deadline=None)
def test_offsets_are_aligned_and_inside_the_arena(tensors):
    plan = plan_memory(tensors)
    for tensor in tensors:
        assert plan.offsets[tensor.name] % ALIGNMENT == 0
        assert plan.offsets[tensor.name] + tensor.bytes <= plan.arena_bytes


@given(lifetimes())
@settings(max_examples=200, deadline=None)
def test_the_bound_is_the_largest_live_set(tensors):
    plan = plan_memory(tensors)
    live = [
        sum(-(-t.bytes // ALIGNMENT) * ALIGNMENT for t in tensors if t.first <= step <= t.last)
        for step in range(40)
    ]
    assert plan.bound_bytes == max(live)
    assert plan.bound_bytes <= plan.arena_bytes


def test_a_chain_needs_two_places():
    chain = [Lifetime(f"t{i}", 1000, i, i + 1) for i in range(10)]
    assert plan_memory(chain).arena_bytes == 2 * 1024


def test_the_smallest_gap_that_holds_a_tensor_is_taken():
    tensors = [
        Lifetime("a", 640, 0, 9),
        Lifetime("wide", 512, 0, 3),
        Lifetime("b", 448, 0, 9),
        Lifetime("narrow", 256, 0, 3),
        Lifetime("c", 192, 0, 9),
        Lifetime("late", 128, 5, 9),
    ]
    plan = plan_memory(tensors)
    assert plan.offsets["late"] == plan.offsets["narrow"]


def test_nothing_takes_nothing():
    assert plan_memory([]).arena_bytes == 0


def test_where_the_largest_first_misses_the_bound_another_order_reaches_it():
    """`d` first takes the bottom, `a` goes above it, and `b` and `c` find too little room between."""
    tensors = [
        Lifetime("a", 320, 0, 4),
        Lifetime("b", 320, 1, 2),
        Lifetime("c", 128, 2, 2),
        Lifetime("d", 384, 3, 7),
    ]
    plan = plan_memory(tensors)
    assert plan.arena_bytes == plan.bound_bytes == 768


@given(lifetimes(), st.integers(0, 20_000))
@settings(max_examples=100, deadline=None)
def test_memory_rests_until_as_many_bytes_were_touched(tensors, distance):
    touched = [100 * (step % 7) for step in range(40)]
    for before, after in zip(tensors, rested(tensors, touched, distance), strict=True):
        assert (after.name, after.bytes, after.first) == (before.name, before.bytes, before.first)
        assert after.last >= before.last
        since = touched[before.last + 1 : after.last + 1]
        assert sum(since) >= distance or after.last == 39
        assert not since or sum(since[:-1]) < distance
