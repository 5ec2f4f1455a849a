from __future__ import annotations

import random

import numpy as np
import pytest

from tilewright.space.config_space import ConfigSpace
from tilewright.space.knobs import Knobs
from tilewright_search.moves.evolution import evolve
from tilewright_search.moves.tile_moves import TileMoves
from tilewright_testing.support.landscape import Landscape
from tilewright_testing.tuner import context_for, run


def _split_space(length, **options):
    knobs = Knobs("tiled")
    knobs.define_split("tile", length, num_outputs=3, **options)
    return ConfigSpace([knobs.alternative()])


def test_a_move_keeps_the_product_of_a_split():
    space = _split_space(360)
    (index,) = space.sample_indexes(random.Random(0), 1)
    for seed in range(200):
        index = TileMoves(space).mutate(index, random.Random(seed))
        assert np.prod(space.get(index)["tile"]) == 360


@pytest.mark.parametrize("policy", ["power2", "verbose"])
@pytest.mark.parametrize("length", [7, 17, 1000])
def test_moves_reach_everything_where_tiles_leave_tails(length, policy):
    space = _split_space(length, policy=policy)
    index, seen, generator = 0, set(), random.Random(0)
    for _ in range(40 * len(space)):
        index = TileMoves(space).mutate(index, generator)
        assert space.is_index_valid(index)
        seen.add(index)
    assert len(seen) == len(space)


def test_a_point_alone_stays_where_it_is():
    space = _split_space(1)
    assert TileMoves(space).mutate(0, random.Random(0)) == 0


def test_generations_climb_and_stay_feasible():
    landscape = Landscape()
    get = landscape.space.get

    def score(indexes):
        seconds = [landscape.true_seconds(get(index)) for index in indexes]
        return np.array([1e-3 / s if s else 0.0 for s in seconds], np.float32)

    sample = landscape.space.sample_indexes(random.Random(0), 64, balanced=True)
    start = [sample[place] for place in np.argsort(score(sample))[:32]]  # the slow half
    scored = evolve(
        landscape.space, start, score, random.Random(1), generations=6, children=32, crossover=0.5
    )
    assert max(scored.values()) > 1.5 * max(score(start))
    assert all(map(landscape.space.is_index_valid, scored))
    assert {get(index).strategy for index in scored} == {"hill/narrow", "hill/wide"}


def test_children_of_the_fastest_are_better_than_chance(host):
    landscape = Landscape()
    proposed = run(host.make("tuner", "genetic", {}, context_for(landscape, host)), landscape, 160)

    def mean(configs):
        return sum(landscape.true_seconds(config) or 3e-3 for config in configs) / len(configs)

    assert mean(proposed[128:160]) < mean(proposed[:32]) / 1.2
