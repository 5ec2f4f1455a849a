"""Draws points of constrained knobs by rejection, until one is feasible."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice

from tilewright.space.feasible.intervals import Interval
from tilewright.space.feasible.knob_classes import KnobClasses
from tilewright.space.feasible.tied_constraint import Holds, TiedConstraint

_LEAST_HITS = 8
_HITS = 64
_PROBES = 50 * _LEAST_HITS


class Rejection:
    """Uniform over the feasible points whose digits come from `pools`, one a knob.

    Nothing is prepared: where one point in n is feasible, drawing one takes n attempts of some
    microseconds each.
    """

    def __init__(
        self,
        knobs: Sequence[KnobClasses],
        constraints: Sequence[TiedConstraint],
        pools: Sequence[Sequence[int]],
    ) -> None:
        closing = [
            [c.holds for c in constraints if c.levels[-1] == level] for level in range(len(knobs))
        ]
        asked = [knob.at for knob in knobs]
        self._levels = list(zip(asked, closing, pools, map(len, pools), strict=True))

    @cached_property
    def finds(self) -> bool:
        """Whether one point in fifty is feasible, by trying some: drawing then takes little."""
        return len(self._hits(_LEAST_HITS)) == _LEAST_HITS

    @cached_property
    def share(self) -> float:
        """The share of points that are feasible, by trying more of them; 0 below one in fifty."""
        hits = self._hits(_HITS) if self.finds else []
        return len(hits) / (hits[-1] if len(hits) == _HITS else _PROBES)

    def draw(self, rng: random.Random) -> list[int]:
        """Digits of a feasible point. Never returns where there is none: see `finds`."""
        while True:
            digits = self._attempt(rng)
            if digits is not None:
                return digits

    def _hits(self, count: int) -> list[int]:
        """Which of the first attempts find a point, counted from 1; no more of them than asked."""
        if not all(size for *_, size in self._levels):
            return []
        if not any(closing for _, closing, *_ in self._levels):
            return list(range(1, count + 1))
        rng = random.Random(0)  # its own, so that asking changes no other draw
        tried = (tried for tried in range(1, _PROBES + 1) if self._attempt(rng) is not None)
        return list(islice(tried, count))

    def _attempt(self, rng: random.Random) -> list[int] | None:
        """A point drawn knob by knob; None as soon as a constraint does not hold."""
        draw = rng.random
        atoms: list[Interval] = []  # of the levels so far, in order of their slots
        digits = []
        for at, closing, pool, size in self._levels:
            digit = pool[int(draw() * size)]
            atoms += at(digit)
            for holds in closing:
                if not holds(atoms):
                    return None
            digits.append(digit)
        return digits


def all_hold(constraints: Iterable[Holds], atoms: Sequence[Interval]) -> bool:
    """Whether all of them do."""
    for holds in constraints:  # noqa: SIM110  a generator for all() takes twice as long
        if not holds(atoms):
            return False
    return True
