"""Exhaustive search in the space's own order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from tilewright_search.moves.unmeasured import Unmeasured

if TYPE_CHECKING:
    from tilewright.host.contexts import TunerContext
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.measure import Trial


class GridTuner:
    """Every feasible config once, alternative by alternative, in the order of the index."""

    def __init__(self, _options: Any, context: TunerContext) -> None:
        self._unmeasured = Unmeasured(context)
        self._rest = iter(context.space.points())

    def propose(self, count: int) -> Sequence[ConfigEntity]:
        configs = list(islice((c for c in self._rest if c in self._unmeasured), count))
        self._unmeasured.mark(configs)
        return configs

    def observe(self, trials: Sequence[Trial]) -> None:
        self._unmeasured.mark([trial.input.config for trial in trials])
