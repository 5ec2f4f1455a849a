"""Ansor's evolutionary search: generations of tiles and annotations under a learned model."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from tilewright_search.evolution import evolve
from tilewright_search.guided import GuidedOptions, GuidedTuner, Score

if TYPE_CHECKING:
    from tilewright.config import ConfigEntity


class EvolutionaryOptions(GuidedOptions):
    """Options of the tuner `evolutionary`."""

    sample: int = Field(128, ge=16, description="random configs, balanced over the alternatives")
    measured: int = Field(32, ge=0, description="fastest measured configs in the first generation")
    generations: int = Field(4, ge=0, description="generations for a batch")
    children: int = Field(128, ge=2, description="children of a generation")
    crossover: float = Field(0.5, ge=0, le=1, description="chance of a child to have two parents")


class EvolutionaryTuner(GuidedTuner):
    """Evolves a population of random configs and of the best that were measured."""

    def explore(
        self,
        best: Sequence[ConfigEntity],
        sample: Sequence[ConfigEntity],
        score: Score,
        generator: random.Random,
    ) -> dict[ConfigEntity, float]:
        population = list(dict.fromkeys([*best[: self._options.measured], *sample]))
        return evolve(
            self._space,
            population,
            score,
            generator,
            generations=self._options.generations,
            children=self._options.children,
            crossover=self._options.crossover,
        )
