"""Simulated annealing on a cost model: good configs of a space too large to score as a whole."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tilewright_search.models.features import Floats

if TYPE_CHECKING:
    from tilewright.space.config_space import ConfigSpace


def anneal(
    space: ConfigSpace,
    starts: Sequence[int],
    score: Callable[[Sequence[int]], Floats],
    generator: random.Random,
    steps: int,
) -> dict[int, float]:
    """The index of every config that one chain per start came by, with its score.

    A step changes one knob of every chain. Better configs are always taken, worse ones with a
    probability that falls with the loss and with time; the temperature starts at a quarter of the
    spread of the starts' scores. AutoTVM walks 128 chains for 500 steps, seconds a batch; some ten
    steps find as much, for one batch is measured and learned from before the next is planned.
    """
    chains = list(starts)
    scores = score(chains).tolist()
    visited = dict(zip(chains, scores, strict=True))
    heat = (max(scores) - min(scores)) / 4 + 1e-9
    for step in range(steps):
        temperature = heat * (1 - step / steps)
        moves = [space.neighbour_index(index, generator) for index in chains]
        for place, (index, value) in enumerate(zip(moves, score(moves).tolist(), strict=True)):
            visited[index] = value
            gain = value - scores[place]
            if gain >= 0 or generator.random() < math.exp(gain / temperature):
                chains[place], scores[place] = index, value
    return visited
