"""Ansor's evolutionary search: generations of tiles and annotations under a learned model."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import islice

from pydantic import Field

from tilewright_search.moves.evolution import evolve
from tilewright_search.tuners.guided import GuidedOptions, GuidedTuner, Score


class EvolutionaryOptions(GuidedOptions):
    """Options of the tuner `evolutionary`."""

    measured: int = Field(32, ge=0, description="fastest measured configs in the first generation")
    generations: int = Field(3, ge=0, description="generations for a batch")
    children: int = Field(96, ge=2, description="children of a generation")
    crossover: float = Field(0.5, ge=0, le=1, description="chance of a child to have two parents")


class EvolutionaryTuner(GuidedTuner):
    """Evolves a population of random configs and of the best that were measured."""

    def explore(
        self,
        best: Iterator[int],
        sample: Sequence[int],
        score: Score,
        generator: random.Random,
    ) -> dict[int, float]:
        fastest = islice(best, self._options.measured)
        population = list(dict.fromkeys([*fastest, *sample]))
        return evolve(
            self._space,
            population,
            score,
            generator,
            generations=self._options.generations,
            children=self._options.children,
            crossover=self._options.crossover,
        )
