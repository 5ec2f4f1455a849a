"""Uniform random search without repetition: the baseline every other tuner has to beat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilewright_search.moves.unmeasured import Unmeasured

if TYPE_CHECKING:
    from tilewright.host.contexts import TunerContext
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.measure import Trial


class RandomTuner:
    """Feasible configs in random order, each once."""

    def __init__(self, _options: Any, context: TunerContext) -> None:
        self._space = context.space
        self._unmeasured = Unmeasured(context)

    def propose(self, count: int) -> Sequence[ConfigEntity]:
        indexes = self._unmeasured.draw(self._unmeasured.generator(), count)
        self._unmeasured.mark(indexes)
        return list(map(self._space.get, indexes))

    def observe(self, trials: Sequence[Trial]) -> None:
        self._unmeasured.observe(trials)
