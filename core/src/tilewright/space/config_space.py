"""Everything a task can be tuned over: a sum of products of knobs."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Sized
from functools import cached_property
from itertools import accumulate, islice
from typing import Any

from tilewright.canonical import content_key
from tilewright.errors import UsageError, did_you_mean
from tilewright.notebook import notebook_html
from tilewright.space.alternative import Alternative
from tilewright.terminal_text import brief
from tilewright.vocabulary.config import ConfigEntity

__all__ = ["Alternative", "ConfigSpace"]

_DRAWS_PER_POINT = 20
_DIGITS = 12


class ConfigSpace:
    """Alternatives, sorted by name, and the points of all of them.

    Raw points are numbered through the alternatives in order; within one, the knob declared first
    is the least significant digit. Indexes hold within one `hash` only: identify points by their
    values. Constraints make raw points infeasible; sampling, neighbours, crossover and iteration
    give feasible ones only, and none of them ever lists the product: 1e15 points cost what 1e3 do.
    """

    def __init__(self, alternatives: Iterable[Alternative]) -> None:
        self.alternatives = tuple(sorted(alternatives, key=lambda alternative: alternative.name))
        names = [alternative.name for alternative in self.alternatives]
        if len(set(names)) != len(names):
            raise UsageError(f"alternatives of one space share a name: {', '.join(names)}")
        self._offsets = list(accumulate((a.size for a in self.alternatives), initial=0))
        self._places = {name: place for place, name in enumerate(names)}

    def __repr__(self) -> str:
        parts = brief(", ".join(f"{a.name} ({_count(a.size)})" for a in self.alternatives), 200)
        return f"<ConfigSpace of {_count(self.size)} configs: {parts or 'no alternative'}>"

    def _repr_html_(self) -> str | None:
        return notebook_html(self)

    def __len__(self) -> int:
        """Number of raw points; use `size` where it may pass 2**63."""
        return self.size

    def __bool__(self) -> bool:
        return self.size > 0

    def __contains__(self, config: object) -> bool:
        return isinstance(config, ConfigEntity) and self.is_valid(config)

    @property
    def size(self) -> int:
        """Number of raw points, feasible or not."""
        return self._offsets[-1]

    @cached_property
    def hash(self) -> str:
        """Equal exactly for spaces with equal names, knobs, values and constraints."""
        return content_key(self.to_json())

    def to_json(self) -> list[Any]:
        return [alternative.to_json() for alternative in self.alternatives]

    @classmethod
    def from_json(cls, data: Sequence[Mapping[str, Any]]) -> ConfigSpace:
        """The space that a file describes, equal to the one that wrote it (`to_json`)."""
        return cls(map(Alternative.from_json, data))

    def get(self, index: int) -> ConfigEntity:
        """The config at a raw index, feasible or not. Raises IndexError outside the space."""
        if not 0 <= index < self.size:
            raise IndexError(f"the space has {self.size} points, index {index} is none")
        place = bisect_right(self._offsets, index) - 1
        return self.alternatives[place].get(index - self._offsets[place])

    def find(self, config: ConfigEntity) -> int | None:
        """The raw index of a config, feasible or not; None where it is no point of this space."""
        place = self._places.get(config.strategy)
        if place is None:
            return None
        index = self.alternatives[place].find(config)
        return None if index is None else self._offsets[place] + index

    def index(self, config: ConfigEntity) -> int:
        """The raw index of a config. Raises UsageError where it is no point of this space."""
        index = self.find(config)
        if index is None:
            raise UsageError(
                f"{config.text} is no point of this space",
                remedy=did_you_mean(config.strategy, list(self._places)),
            )
        return index

    def is_valid(self, config: ConfigEntity) -> bool:
        """Whether a config is a point of this space and satisfies its constraints."""
        index = self.find(config)
        return index is not None and self.is_index_valid(index)

    def is_index_valid(self, index: int) -> bool:
        """Whether the point at a raw index is feasible."""
        if not 0 <= index < self.size:
            return False
        place = bisect_right(self._offsets, index) - 1
        return self.alternatives[place].accepts(index - self._offsets[place])

    def valid_count(self) -> int | None:
        """Number of feasible points, None where counting them would take long."""
        counts = [alternative.valid_count for alternative in self.alternatives]
        return None if None in counts else sum(count for count in counts if count is not None)

    def indexes(self, start: int = 0, stop: int | None = None) -> Iterator[int]:
        """Feasible indexes in [start, stop), lazily and in order."""
        for offset, alternative in zip(self._offsets, self.alternatives, strict=False):
            own_stop = None if stop is None else stop - offset
            for index in alternative.indexes(start - offset, own_stop):
                yield offset + index

    def points(self) -> Iterator[ConfigEntity]:
        """Feasible configs, lazily, in order of index."""
        return map(self.get, self.indexes())

    def first(self) -> ConfigEntity | None:
        """The feasible config with the lowest index, None in an empty space."""
        return next(self.points(), None)

    def sample(
        self,
        rng: random.Random,
        count: int,
        *,
        exclude: Container[int] = frozenset(),
        balanced: bool = False,
    ) -> list[ConfigEntity]:
        """Up to `count` distinct feasible configs in random order; fewer where there are no more.

        See `sample_indexes`.
        """
        drawn = self.sample_indexes(rng, count, exclude=exclude, balanced=balanced)
        return list(map(self.get, drawn))

    def sample_indexes(
        self,
        rng: random.Random,
        count: int,
        *,
        exclude: Container[int] = frozenset(),
        balanced: bool = False,
    ) -> list[int]:
        """The indexes of up to `count` distinct feasible configs in random order.

        The last ones of a space whose points were not counted come in order of index.

        Every feasible point is equally likely, as far as that is known without counting many
        (see `KnobGroup`); `balanced` gives each alternative the same share instead, so that small
        ones are tried beside vast ones. `exclude` holds raw indexes not to give again. The same
        generator state gives the same sample.
        """
        if self._has_at_most(2 * (count + (len(exclude) if isinstance(exclude, Sized) else 0))):
            left = [index for index in self._listed if index not in exclude]
            return rng.sample(left, min(count, len(left)))
        chosen: dict[int, None] = {}
        if balanced:
            self._draw(rng, count, [1.0] * len(self.alternatives), exclude, chosen)
        if len(chosen) < count:
            roughly = [alternative.roughly for alternative in self.alternatives]
            self._draw(rng, count, roughly, exclude, chosen)
        if len(chosen) < count:  # few are left: luck would find them late
            others = (i for i in self.indexes() if i not in exclude and i not in chosen)
            chosen.update(dict.fromkeys(tuple(islice(others, count - len(chosen)))))
        return list(chosen)

    def _draw(
        self,
        rng: random.Random,
        count: int,
        weights: list[float],
        exclude: Container[int],
        chosen: dict[int, None],
    ) -> None:
        """Draw until there are enough, or until too many draws fail."""
        # Half of what is drawn at worst is drawn twice; where feasible points are few and
        # uncounted, it is more.
        places, up_to = range(len(weights)), list(accumulate(weights))
        for _ in range(_DRAWS_PER_POINT * count):
            if len(chosen) == count or not any(up_to):
                break
            (place,) = rng.choices(places, cum_weights=up_to)
            index = self.alternatives[place].draw(rng)
            if index is None:
                weights[place] = 0.0
                up_to = list(accumulate(weights))
            elif (index := index + self._offsets[place]) not in exclude:
                chosen[index] = None

    def neighbour(self, config: ConfigEntity, rng: random.Random) -> ConfigEntity:
        """A feasible config that differs in one knob, or failing that another one, or itself."""
        return self.get(self.neighbour_index(self.index(config), rng))

    def neighbour_index(self, index: int, rng: random.Random) -> int:
        """As `neighbour`, by index: a search need not make a config of every step."""
        place = bisect_right(self._offsets, index) - 1
        offset = self._offsets[place]
        near = self.alternatives[place].neighbour(index - offset, rng)
        if near is not None:
            return offset + near
        return next(iter(self.sample_indexes(rng, 1, exclude={index})), index)

    def crossover(self, a: ConfigEntity, b: ConfigEntity, rng: random.Random) -> ConfigEntity:
        """A feasible mix of two feasible configs; across alternatives, a neighbour of one."""
        return self.get(self.crossover_index(self.index(a), self.index(b), rng))

    def crossover_index(self, a: int, b: int, rng: random.Random) -> int:
        """As `crossover`, by index."""
        place = bisect_right(self._offsets, a) - 1
        offset = self._offsets[place]
        if not offset <= b < self._offsets[place + 1]:
            return self.neighbour_index(rng.choice((a, b)), rng)
        return offset + self.alternatives[place].crossover(a - offset, b - offset, rng)

    @cached_property
    def _listed(self) -> tuple[int, ...]:
        """All feasible indexes, cached: at most twice as many as were drawn or excluded."""
        return tuple(self.indexes())

    def _has_at_most(self, limit: int) -> bool:
        """Whether there are so few feasible points; counted only where there may be."""
        vast_first = sorted(self.alternatives, key=lambda alternative: -alternative.size)
        sums = accumulate(alternative.roughly for alternative in vast_first)
        if any(so_far > 2 * limit for so_far in sums):
            return False
        valid = self.valid_count()
        return valid is not None and valid <= limit


def _count(number: int) -> str:
    """A number of points; of a vast one, its order of magnitude."""
    text = str(number)
    return text if len(text) <= _DIGITS else f"about 1e{len(text) - 1}"
