"""ConfigSpace: counts, order, sampling, neighbours; against brute force where spaces are small."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections import Counter
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.errors import UsageError
from tilewright.space.alternative import Alternative
from tilewright.space.config_space import ConfigSpace
from tilewright.space.feasible.constraint import Item, Knob, holds
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity


def two_splits(filtered=False):
    knobs = Knobs("matmul")
    x = knobs.define_split("tile_x", 128, num_outputs=2)
    only = Knob("tile_y")[-1] < 64 if filtered else None
    y = knobs.define_split("tile_y", 128, num_outputs=2, filter=only)
    knobs.constrain((x[-1] * y[-1] >= 32) & (x[-1] * y[-1] < 1024))
    return ConfigSpace([knobs.alternative()])


def vast(*, tied=True):
    """About 1e15 raw points; tied so widely that feasible ones are not counted."""
    knobs = Knobs("vast")
    tiles = [knobs.define_split(f"t{i}", 2**25, num_outputs=4) for i in range(4)]
    vectors = knobs.define_knob("vectors", [1, 2, 3, 4, 6, 8, 12, 16])
    if tied:
        for place in range(4):
            knobs.constrain(tiles[place][-1] * tiles[(place + 1) % 4][-2] * vectors <= 3 * 64)
        knobs.constrain(tiles[0][-1] * tiles[1][-1] * tiles[2][-1] * vectors <= 28)
    return ConfigSpace([knobs.alternative()])


def small(name="s", limit=7):
    knobs = Knobs(name)
    t = knobs.define_split("t", 12, num_outputs=3, policy="verbose")
    a = knobs.define_knob("a", [0, 1, 2, 5])
    knobs.define_knob("free", ["p", "q", "r"])
    b = knobs.define_knob("b", [True, False])
    knobs.constrain(t[-1] * a + t[-2] <= limit)
    knobs.constrain((a % 2 == 0) | ~(b == True))  # noqa: E712  an expression, not a truth value
    return ConfigSpace([knobs.alternative()])


SMALL, SHARED, VAST = small(), two_splits(), vast()
BOTH = ConfigSpace([*SHARED.alternatives, *SMALL.alternatives])


@cache
def brute(space):
    """Feasible indexes by asking every point."""
    found = []
    for index in range(space.size):
        config = space.get(index)
        (alternative,) = [a for a in space.alternatives if a.name == config.strategy]
        if all(holds(c, config.values) for c in alternative.constraints):
            found.append(index)
    return found


def test_an_alternative_may_guard_what_the_other_side_cannot_be_asked():
    knobs = Knobs("guarded")
    c = knobs.define_knob("c", [8, 16])
    b = knobs.define_knob("b", [1, 2])
    a = knobs.define_knob("a", [None, 4])
    knobs.constrain((a == None) | (a * b <= c - 1))  # noqa: E711  an expression
    space = ConfigSpace([knobs.alternative()])
    assert space.valid_count() == len(list(space.points())) == 4 + 3
    assert all(space.is_valid(point) for point in space.points())
    assert len(space.sample(random.Random(0), 7)) == 7


def test_matmul_tutorial_spaces_have_autotvms_sizes():
    for length, size in ((512, 100), (128, 64)):
        knobs = Knobs("matmul")
        knobs.define_split("tile_x", length, num_outputs=2)
        knobs.define_split("tile_y", length, num_outputs=2)
        assert len(ConfigSpace([knobs.alternative()])) == size


def test_shared_filter_space_has_autotvms_numbers():
    space = two_splits()
    assert (len(space), space.valid_count()) == (64, 34)
    assert len(list(space.indexes(0, 32))) == 17
    assert len(list(space.indexes(16, 32))) == 10
    values = space.alternatives[0].knobs[0].values
    assert space.index(ConfigEntity("matmul", {"tile_x": values[4], "tile_y": values[1]})) == 12
    filtered = two_splits(filtered=True)
    assert (len(filtered), filtered.valid_count()) == (48, 27)


def test_index_and_config_convert_both_ways_over_alternatives_in_name_order():
    space = ConfigSpace([*small("z").alternatives, *small("a/b", 3).alternatives])
    assert [a.name for a in space.alternatives] == ["a/b", "z"]
    assert [space.index(space.get(i)) for i in range(space.size)] == list(range(space.size))
    first, second = space.get(0), space.get(1)
    assert [k for k in first.values if first[k] != second[k]] == ["t"]  # the first declared
    with pytest.raises(IndexError):
        space.get(space.size)


def test_a_config_from_json_is_found_again():
    space = small()
    for config in space.points():
        again = ConfigEntity.from_json(config.to_json())
        assert again == config
        assert space.index(again) == space.index(config)


@pytest.mark.parametrize(
    "values",
    [
        {"t": (12, 1, 1), "a": 0, "free": "p"},
        {"t": (12, 1, 1), "a": 0, "free": "p", "b": True, "c": 1},
        {"t": (12, 1, 1), "a": 0, "free": "p", "b": 1},
        {"t": (12, 1, 2), "a": 0, "free": "p", "b": True},
        {"t": {"x": 1}, "a": 0, "free": "p", "b": True},
    ],
)
def test_configs_of_something_else_are_no_points(values):
    config = ConfigEntity("s", values)
    assert not small().is_valid(config)
    assert config not in small()
    with pytest.raises(UsageError, match="no point of this space"):
        small().index(config)


@pytest.mark.parametrize("space", [two_splits(), small(), small(limit=1), small(limit=-1)])
def test_iteration_count_and_validity_agree_with_brute_force(space):
    feasible = brute(space)
    assert list(space.indexes()) == feasible
    assert space.valid_count() == len(feasible)
    assert [i for i in range(space.size) if space.is_index_valid(i)] == feasible
    first = space.first()
    assert (space.index(first) if first else None) == (feasible[0] if feasible else None)


@settings(deadline=None)
@given(st.integers(0, 300), st.integers(0, 300))
def test_an_interval_of_indexes_is_the_brute_force_one(a, b):
    within = [i for i in brute(BOTH) if a <= i < b]
    assert list(BOTH.indexes(a, b)) == within


def test_sampling_is_uniform_over_feasible_points_of_all_alternatives():
    feasible = brute(BOTH)
    rng, rounds = random.Random(3), 6000
    drawn = Counter(BOTH.index(BOTH.sample(rng, 1)[0]) for _ in range(rounds))
    assert set(drawn) <= set(feasible)
    expected = rounds / len(feasible)
    chi_square = sum((drawn[i] - expected) ** 2 / expected for i in feasible)
    # Mean k-1, deviation sqrt(2(k-1)): five deviations are one in a million.
    assert chi_square < len(feasible) + 5 * (2 * len(feasible)) ** 0.5


def test_a_sample_is_distinct_leaves_out_the_excluded_and_ends_with_the_space():
    space = small()
    feasible = set(brute(space))
    rng = random.Random(1)
    some = [space.index(c) for c in space.sample(rng, 20)]
    assert len(set(some)) == 20
    rest = [space.index(c) for c in space.sample(rng, 10_000, exclude=set(some))]
    assert set(rest) == feasible - set(some)
    assert len(rest) == len(set(rest))


def test_an_uncounted_space_is_sampled_to_its_end():
    knobs = Knobs("product")
    factors = [knobs.define_knob(f"x{i}", range(1, 11)) for i in range(5)]
    knobs.constrain(math.prod(factors) == 7 * 9 * 8 * 5 * 3)
    space = ConfigSpace([knobs.alternative()])
    *seen, last = space.indexes()
    assert space.valid_count() is None
    assert len(seen) > 500
    found = space.sample(random.Random(1), 8, exclude=set(seen[3:]))
    assert sorted(map(space.index, found)) == [*seen[:3], last]


def test_a_space_that_is_half_used_up_is_gone_through_once(monkeypatch):
    walks, indexes = [], Alternative.indexes
    monkeypatch.setattr(
        Alternative, "indexes", lambda *where, **how: walks.append(1) or indexes(*where, **how)
    )
    space, seen, rng = small(), set(), random.Random(1)
    while found := space.sample(rng, 8, exclude=seen):
        seen.update(map(space.index, found))
    assert len(seen) == space.valid_count() > 40
    assert len(walks) == 1


def test_the_same_seed_gives_the_same_sample_whatever_was_asked_before():
    asked = vast()
    asked.valid_count(), asked.first(), asked.sample(random.Random(9), 3)
    assert asked.sample(random.Random(5), 30) == vast().sample(random.Random(5), 30)


def test_balanced_sampling_gives_each_alternative_its_share():
    space = ConfigSpace([*small("tiny").alternatives, *vast(tied=False).alternatives])
    names = Counter(c.strategy for c in space.sample(random.Random(2), 80, balanced=True))
    assert min(names["tiny"], names["vast"]) > 20
    assert {c.strategy for c in space.sample(random.Random(2), 80)} == {"vast"}


@pytest.mark.parametrize("tied", [False, True])
def test_vast_spaces_sample_distinct_feasible_points_without_listing_anything(tied):
    space = vast(tied=tied)
    assert space.size > 9e14
    found = space.sample(random.Random(7), 200)
    assert len(set(found)) == 200
    assert all(space.is_valid(config) for config in found)
    assert all(
        holds(c, config.values) for config in found for c in space.alternatives[0].constraints
    )


def test_the_first_points_of_a_vast_space_ask_a_few_values_only(monkeypatch):
    asked, evaluate = [], Item.evaluate
    monkeypatch.setattr(Item, "evaluate", lambda *given: asked.append(given) or evaluate(*given))
    knobs = Knobs("vast")
    tiles = [knobs.define_split(name, 2**25, num_outputs=4) for name in "abcd"]
    knobs.constrain(tiles[0][-1] * tiles[1][-1] * tiles[2][-1] * tiles[3][-1] <= 2**25)
    alternative = knobs.alternative()
    assert alternative.draw(random.Random(0)) is not None
    assert 0 < len(asked) < 200
    assert len(ConfigSpace([alternative]).sample(random.Random(0), 5, balanced=True)) == 5
    assert len(asked) < 1000 < len(alternative.knobs[0])


def test_sparse_vast_spaces_are_searched_not_guessed(soon):
    knobs = Knobs("sparse")
    tiles = [knobs.define_split(f"t{i}", 5040, num_outputs=3) for i in range(5)]
    for left, right in itertools.pairwise(tiles):
        knobs.constrain(left[-1] * right[-1] == 7 * 9 * 5)
    knobs.constrain(tiles[0][1] * tiles[2][1] * tiles[4][1] == 27)
    space = ConfigSpace([knobs.alternative()])
    with soon(1):
        found = space.sample(random.Random(7), 20)
        assert space.first() is not None
    assert len(found) == 20
    assert all(holds(c, f.values) for f in found for c in space.alternatives[0].constraints)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32))
def test_neighbours_differ_in_one_knob_and_are_feasible(seed):
    rng = random.Random(seed)
    for space in (SMALL, SHARED, VAST):
        (config,) = space.sample(rng, 1)
        near = space.neighbour(config, rng)
        assert space.is_valid(near)
        assert sum(config[k] != near[k] for k in config.values) == 1


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32))
def test_by_index_the_same_moves_are_made(seed):
    space = ConfigSpace([*BOTH.alternatives, *VAST.alternatives])
    drawn = space.sample(random.Random(seed), 4, balanced=True)
    indexes = space.sample_indexes(random.Random(seed), 4, balanced=True)
    assert drawn == list(map(space.get, indexes))
    for a, b in itertools.pairwise(range(4)):
        near = space.neighbour(drawn[a], random.Random(seed))
        assert space.index(near) == space.neighbour_index(indexes[a], random.Random(seed))
        child = space.crossover(drawn[a], drawn[b], random.Random(seed))
        mixed = space.crossover_index(indexes[a], indexes[b], random.Random(seed))
        assert space.index(child) == mixed


def test_every_feasible_point_that_differs_in_one_knob_is_a_neighbour():
    config = SMALL.sample(random.Random(4), 1)[0]
    near = {
        other
        for other in SMALL.points()
        if sum(config[knob] != other[knob] for knob in config.values) == 1
    }
    rng = random.Random(0)
    assert {SMALL.neighbour(config, rng) for _ in range(100 * len(near))} == near


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32))
def test_a_crossover_is_a_feasible_mix_of_its_parents(seed):
    rng = random.Random(seed)
    for space in (SMALL, SHARED, VAST):
        a, b = space.sample(rng, 2)
        child = space.crossover(a, b, rng)
        assert space.is_valid(child)
        assert all(child[k] in (a[k], b[k]) for k in child.values)


def test_parents_of_two_alternatives_have_a_neighbour_of_one_of_them():
    space = ConfigSpace([*small().alternatives, *two_splits().alternatives])
    a, b = two_splits().first(), small().first()
    for seed in range(10):
        child = space.crossover(a, b, random.Random(seed))
        parent = a if child.strategy == a.strategy else b
        assert sum(child[k] != parent[k] for k in child.values) == 1


def test_empty_and_one_point_spaces_behave():
    rng = random.Random(0)
    alone = ConfigSpace([Knobs("only").alternative()])
    config = ConfigEntity("only", {})
    assert (len(alone), alone.valid_count(), list(alone.points())) == (1, 1, [config])
    assert alone.sample(rng, 5) == [config]
    assert alone.neighbour(config, rng) == config
    assert alone.crossover(config, config, rng) == config
    no_values = Knobs("none")
    no_values.define_knob("k", [])
    never = Knobs("never")
    never.constrain(never.define_knob("k", [1, 2]) > 2)
    for empty in (
        ConfigSpace([]),
        ConfigSpace([no_values.alternative()]),
        ConfigSpace([never.alternative()]),
    ):
        assert (empty.valid_count(), empty.first(), empty.sample(rng, 3)) == (0, None, [])
        assert list(empty.points()) == []


def test_an_isolated_point_has_another_point_for_a_neighbour():
    knobs = Knobs("diagonal")
    a, b = (knobs.define_knob(name, list(range(4))) for name in "ab")
    knobs.constrain(a == b)
    space = ConfigSpace([knobs.alternative()])
    near = space.neighbour(space.get(0), random.Random(0))
    assert near != space.get(0)
    assert space.is_valid(near)


def test_hash_sees_names_values_order_and_constraints():
    def space(name="s", values=(1, 2), constraint=1, knob="a"):
        knobs = Knobs(name)
        knobs.constrain(knobs.define_knob(knob, values) >= constraint)
        return ConfigSpace([knobs.alternative()]).hash

    same = space()
    assert same == space()
    changed = [
        space("t"),
        space(values=(2, 1)),
        space(constraint=2),
        space(knob="b"),
        space(values=(1, True)),
    ]
    assert len({same, *changed}) == 6


def test_a_part_that_two_constraints_share_counts_in_both():
    knobs = Knobs("shared")
    a, b, c = (knobs.define_knob(name, range(6)) for name in "abc")
    twice = a * 2
    knobs.constrain(twice + b <= 7)
    knobs.constrain(twice * c == 8)
    space = ConfigSpace([knobs.alternative()])
    assert space.valid_count() == len(brute(space)) > 4
    rng = random.Random(0)
    assert {space.sample_indexes(rng, 1)[0] for _ in range(400)} == set(brute(space))


def test_alternatives_of_one_name_are_refused():
    with pytest.raises(UsageError, match="share a name"):
        ConfigSpace([*small().alternatives, *small().alternatives])


def test_a_space_read_from_its_json_is_the_same_space():
    knobs = Knobs("a/b")
    tile = knobs.define_split("tile", 12, num_outputs=3)
    knobs.define_entities("order", "reorder", ((0, 1), (1, 0)))
    knobs.constrain(tile[-1] * knobs.define_knob("lanes", [1, 2, True]) <= 8)
    space = ConfigSpace([knobs.alternative()])
    again = ConfigSpace.from_json(json.loads(json.dumps(space.to_json())))
    assert again.hash == space.hash
    assert list(again.points()) == list(space.points())


@pytest.mark.parametrize(
    ("constraint", "read"),
    [(True, "'True' reads no knob"), (["<=", 1, 2], "'1 <= 2' reads no knob"),
     (["<=", ["knob", "z"], 2], r"'z <= 2' reads \['z'\]")],
)  # fmt: skip
def test_a_constraint_that_no_knob_can_satisfy_or_break_is_refused(constraint, read):
    data = [{"name": "a", "knobs": [["k", "other", [1, 2]]], "constraints": [constraint]}]
    with pytest.raises(UsageError, match=rf"a: the constraint {read}"):
        ConfigSpace.from_json(data)


@pytest.mark.parametrize(
    ("values", "constraint", "why"),
    [([1, 2], ["item", "k", 0], "'k\\[0\\]' is an entry that no value of 'k' has"),
     ([[1], [3]], [">", 2, ["item", "k", 1]], "'k\\[1\\]' is an entry"),
     ([1, 2], ["not", ["product", "k", 0]], "'k.product\\(\\)' is no number"),
     ([["a", 1]], ["product", "k", 0], "'k.product\\(\\)' is no number"),
     (["a%s", "b"], ["%", ["knob", "k"], 2], "'k' is no number"),
     ([[2, "a"]], ["or", True, ["<", 2, ["item", "k", 1]]], "'k\\[1\\]' is no number")],
)  # fmt: skip
def test_a_constraint_that_makes_no_sense_is_refused_before_a_point_is_drawn(
    values, constraint, why
):
    data = [{"name": "a", "knobs": [["k", "other", values]], "constraints": [constraint]}]
    with pytest.raises(UsageError, match=rf"a: the constraint '.*': {why}"):
        ConfigSpace.from_json(data)


@pytest.mark.parametrize(
    ("values", "constraint", "feasible"),
    [([None, 2, 5], ["or", ["==", ["knob", "k"], None], ["<", ["knob", "k"], 4]], 2),
     ([None, [2, 4]], ["or", ["==", ["knob", "k"], None], ["<", ["item", "k", -1], 4]], 1),
     (["a", "b", "c"], ["<", ["knob", "k"], "c"], 2),
     ([[2, "a"], [3, "b"]], ["==", ["item", "k", -1], "b"], 1),
     ([[2], [3]], ["==", ["product", "k", 1], 1], 2),
     ([], ["<", ["knob", "k"], 4], 0)],
)  # fmt: skip
def test_a_constraint_that_makes_sense_where_it_is_asked_is_not_refused(
    values, constraint, feasible
):
    data = [{"name": "a", "knobs": [["k", "other", values]], "constraints": [constraint]}]
    assert len(list(ConfigSpace.from_json(data).points())) == feasible
