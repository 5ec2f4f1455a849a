"""Evolution on a cost model: mutation and crossover of the configs that it predicts to be fast."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from tilewright_search.models.features import Floats
from tilewright_search.moves.tile_moves import TileMoves

if TYPE_CHECKING:
    from tilewright.space.config_space import ConfigSpace


def evolve(
    space: ConfigSpace,
    population: Sequence[int],
    score: Callable[[Sequence[int]], Floats],
    generator: random.Random,
    *,
    generations: int,
    children: int,
    crossover: float,
) -> dict[int, float]:
    """The index of every config of every generation with its score.

    Parents are the best of all that was scored, as many as there are children, drawn in proportion
    to how far they stand above the worst of these. A child is a mix of two parents with the chance
    `crossover`, else a mutation of one. Ansor drew parents from the last generation alone and
    forgot the good ones before it; nothing is forgotten here, so that fewer children go as far.
    """
    moves = TileMoves(space)
    scored = dict(zip(population, score(population).tolist(), strict=True))
    for _ in range(generations):
        ranked = sorted(scored, key=scored.__getitem__, reverse=True)[: max(2, children)]
        floor = scored[ranked[-1]]
        shares = list(accumulate(scored[index] - floor + 1e-9 for index in ranked))
        fresh: dict[int, None] = {}
        for _ in range(children):
            first, second = generator.choices(ranked, cum_weights=shares, k=2)
            if first != second and generator.random() < crossover:
                child = space.crossover_index(first, second, generator)
            else:
                child = moves.mutate(first, generator)
            if child not in scored:
                fresh[child] = None
        if fresh:
            scored.update(zip(fresh, score(list(fresh)).tolist(), strict=True))
    return scored
