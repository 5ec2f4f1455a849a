"""AutoTVM's XGB tuner: simulated annealing on the cost model, with a fit before every batch."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from pydantic import Field

from tilewright_search.moves.annealing import anneal
from tilewright_search.tuners.guided import GuidedOptions, GuidedTuner, Score


class XgbOptions(GuidedOptions):
    """Options of the tuner `xgb`."""

    chains: int = Field(32, ge=2, description="chains of the annealing")
    steps: int = Field(10, ge=0, description="steps of every chain for a batch")


class XgbTuner(GuidedTuner):
    """Anneals from the best that was measured and from the best of the random sample."""

    def explore(
        self,
        best: Iterator[int],
        sample: Sequence[int],
        score: Score,
        generator: random.Random,
    ) -> dict[int, float]:
        scores = score(sample)
        half = self._options.chains // 2
        starts = list(islice(best, half))
        starts += [sample[place] for place in np.argsort(-scores, kind="stable")[:half]]
        visited = dict(zip(sample, scores.tolist(), strict=True))
        return visited | anneal(self._space, starts, score, generator, self._options.steps)
