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
        self._space = context.space
        self._unmeasured = Unmeasured(context)
        self._rest = context.space.indexes()

    def propose(self, count: int) -> Sequence[ConfigEntity]:
        indexes = list(islice((i for i in self._rest if i in self._unmeasured), count))
        self._unmeasured.mark(indexes)
        return list(map(self._space.get, indexes))

    def observe(self, trials: Sequence[Trial]) -> None:
        self._unmeasured.observe(trials)
