"""Uniform random search without repetition: the baseline every other tuner has to beat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilewright_search.moves.unseen import Unseen

if TYPE_CHECKING:
    from tilewright.roles import TunerContext
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.measure import Trial


class RandomTuner:
    """Feasible configs in random order, each once."""

    def __init__(self, _options: Any, context: TunerContext) -> None:
        self._unseen = Unseen(context)

    def propose(self, count: int) -> Sequence[ConfigEntity]:
        configs = self._unseen.draw(self._unseen.generator(), count)
        self._unseen.mark(configs)
        return configs

    def observe(self, trials: Sequence[Trial]) -> None:
        self._unseen.mark([trial.input.config for trial in trials])
