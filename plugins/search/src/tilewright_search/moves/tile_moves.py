"""Moves in a space that mean something: a factor of a tile goes from one loop to another."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tilewright.space.entities.split import divisors
from tilewright.vocabulary.config import ConfigEntity

if TYPE_CHECKING:
    from tilewright.space.config_space import ConfigSpace
    from tilewright.space.entities.knob_values import KnobValues

_TRIES = 4
_TILE_SHARE = 0.6


class TileMoves:
    """Mutations of a space's configs, by index, as Ansor makes them: mostly of tile sizes.

    A split's factor loses a divisor to another factor of the same split; every other knob, and a
    split that no factor can move in, is redrawn by the space itself.
    """

    def __init__(self, space: ConfigSpace) -> None:
        self._space = space
        self._splits = {
            alternative.name: [knob for knob in alternative.knobs if knob.kind == "split"]
            for alternative in space.alternatives
        }

    def mutate(self, index: int, generator: random.Random) -> int:
        """A feasible config near a feasible one; itself only where it has no neighbour."""
        config = self._space.get(index)
        splits = self._splits[config.strategy]
        if splits and generator.random() < _TILE_SHARE:
            for _ in range(_TRIES):
                knob = generator.choice(splits)
                moved = _move_factor(knob, config[knob.name], generator)
                if moved is None:
                    continue
                values = {**config.values, knob.name: moved}
                near = self._space.find(ConfigEntity.of_frozen(config.strategy, values))
                if near is not None and self._space.is_index_valid(near):
                    return near
        return self._space.neighbour_index(index, generator)


def _move_factor(knob: KnobValues, sizes: Any, generator: random.Random) -> Any:
    """The split with a divisor moved from one factor to another, None where the knob lacks it.

    What the outermost factor gives or takes follows from the others, for it is a ceiling.
    """
    givers = [place for place, size in enumerate(sizes) if size > 1]
    if not givers or len(sizes) < 2:
        return None
    giver = generator.choice(givers)
    taker = generator.choice([place for place in range(len(sizes)) if place != giver])
    factor = generator.choice(divisors(sizes[giver])[1:])
    inner = list(sizes)
    inner[giver] //= factor
    inner[taker] *= factor
    return _by_tile(knob).get(tuple(inner[1:]))


@lru_cache(maxsize=256)
def _by_tile(knob: KnobValues) -> dict[tuple[int, ...], tuple[int, ...]]:
    """A split's values by their factors but the outermost."""
    return {value[1:]: value for value in knob.values}
