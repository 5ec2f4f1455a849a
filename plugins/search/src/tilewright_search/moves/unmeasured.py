"""The part of a space that is left to propose."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright.host.contexts import TunerContext
    from tilewright.vocabulary.measure import Trial


class Unmeasured:
    """The feasible configs that were neither measured nor proposed, by their indexes."""

    def __init__(self, context: TunerContext) -> None:
        self._space = context.space
        self._name = f"{context.seed}/{context.task.key}"
        self._seen: set[int] = set()
        key = context.task.key
        self.observe(trial for trial in context.history if trial.input.task.key == key)

    def __contains__(self, index: int) -> bool:
        return index not in self._seen

    def mark(self, indexes: Iterable[int]) -> None:
        """Leave these out from now on, which are feasible."""
        self._seen.update(indexes)

    def observe(self, trials: Iterable[Trial]) -> None:
        """Leave what was measured out from now on; what the space does not have is passed over."""
        for trial in trials:
            index = self._space.find(trial.input.config)
            if index is None or index in self._seen:  # what was seen is feasible
                continue
            if self._space.is_index_valid(index):
                self._seen.add(index)

    def generator(self) -> random.Random:
        """Random numbers that depend on seed, task and the number of configs seen, on nothing else.

        So a tuner made again from the history goes on exactly as the one that was stopped would
        have.
        """
        return random.Random(f"{self._name}/{len(self._seen)}")

    def draw(self, generator: random.Random, count: int, *, balanced: bool = False) -> list[int]:
        """Distinct unmeasured ones at random; fewer only where fewer are left.

        Every config is equally likely, or every alternative where `balanced`.
        """
        return self._space.sample_indexes(generator, count, exclude=self._seen, balanced=balanced)
