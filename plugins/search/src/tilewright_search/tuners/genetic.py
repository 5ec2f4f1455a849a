"""Genetic search: AutoTVM's GA without its repeats, and without a generation to wait for."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from tilewright.options import Options
from tilewright_search.moves.unmeasured import Unmeasured

if TYPE_CHECKING:
    from tilewright.host.contexts import TunerContext
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.measure import Trial

# Children tried for each config wanted, before random configs fill the batch.
_PATIENCE = 16


class GeneticOptions(Options):
    """Options of the tuner `genetic`."""

    population: int = Field(32, ge=2, description="trials made before any config has parents")
    elite: int = Field(16, ge=2, description="fastest configs, of which parents are chosen")
    mutation: float = Field(0.4, ge=0, le=1, description="chance of a child to mutate as well")


class GeneticTuner:
    """Children of the fastest configs known: two parents are crossed, then a knob may change.

    The elite is taken from all trials and each trial enters at once (a steady-state algorithm), so
    that nothing but the history decides: stopped and made again, the tuner goes on as if it had
    never been stopped. Failed configs have no children.
    """

    def __init__(self, options: GeneticOptions, context: TunerContext) -> None:
        self._options = options
        self._space = context.space
        self._unmeasured = Unmeasured(context)
        self._seconds: dict[int, float] = {}
        self._trials = 0
        self._learn([t for t in context.history if t.input.task == context.task])

    def propose(self, count: int) -> Sequence[ConfigEntity]:
        generator = self._unmeasured.generator()
        elite = sorted(self._seconds, key=self._seconds.__getitem__)[: self._options.elite]
        children: dict[int, None] = {}
        if self._trials >= self._options.population and len(elite) > 1:
            for _ in range(_PATIENCE * count):
                if len(children) == count:
                    break
                child = self._child(elite, generator)
                if child in self._unmeasured:
                    children[child] = None
        self._unmeasured.mark(children)
        missing = self._unmeasured.draw(generator, count - len(children), balanced=True)
        self._unmeasured.mark(missing)
        return [self._space.get(index) for index in (*children, *missing)]

    def observe(self, trials: Sequence[Trial]) -> None:
        self._unmeasured.observe(trials)
        self._learn(trials)

    def _child(self, elite: Sequence[int], generator: random.Random) -> int:
        """A mix of two parents; the faster a config, the likelier it is one."""
        ranks = range(len(elite), 0, -1)
        first, second = generator.choices(elite, ranks, k=2)
        child = self._space.crossover_index(first, second, generator)
        if child in (first, second) or generator.random() < self._options.mutation:
            child = self._space.neighbour_index(child, generator)
        return child

    def _learn(self, trials: Sequence[Trial]) -> None:
        """Of a config measured again the last trial counts; spoiled trials never do."""
        for trial in trials:
            if trial.result.spoiled:
                continue
            self._trials += 1
            index, seconds = self._space.find(trial.input.config), trial.result.seconds
            if index is None or not self._space.is_index_valid(index):
                continue
            if seconds is None:
                self._seconds.pop(index, None)
            else:
                self._seconds[index] = seconds
