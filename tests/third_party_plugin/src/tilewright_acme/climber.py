"""Hill climbing: change one knob of the best config known; jump elsewhere when that leads nowhere."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from tilewright.options import Options

if TYPE_CHECKING:
    from tilewright.host.contexts import TunerContext
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.measure import Trial


class ClimberOptions(Options):
    """Options of the tuner `acme-climber`."""

    patience: int = Field(8, ge=1, description="neighbours tried for each config wanted")


class Climber:
    """Proposes neighbours of the fastest config, then random ones, then whatever is left."""

    def __init__(self, options: ClimberOptions, context: TunerContext) -> None:
        self._patience = options.patience
        self._task, self._space = context.task, context.space
        self._random = random.Random(context.seed)
        self._seen: set[ConfigEntity] = set()
        self._best: tuple[float, ConfigEntity] | None = None
        self.observe([trial for trial in context.history if trial.input.task == context.task])

    def propose(self, count: int) -> Sequence[ConfigEntity]:
        wanted: dict[ConfigEntity, None] = {}
        if self._best is not None and self._space.is_valid(self._best[1]):
            for _ in range(self._patience * count):
                wanted[self._space.neighbour(self._best[1], self._random)] = None
        wanted.update(dict.fromkeys(self._space.sample(self._random, 2 * count)))
        fresh = [config for config in wanted if config not in self._seen]
        if len(fresh) < count:
            fresh += [c for c in self._space.points() if c not in self._seen and c not in wanted]
        self._seen.update(fresh[:count])
        return fresh[:count]

    def observe(self, trials: Sequence[Trial]) -> None:
        for trial in trials:
            self._seen.add(trial.input.config)
            seconds = trial.result.seconds
            if seconds is not None and (self._best is None or seconds < self._best[0]):
                self._best = seconds, trial.input.config
