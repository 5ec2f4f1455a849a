"""The part of a space that is left to propose."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright.host.contexts import TunerContext
    from tilewright.vocabulary.config import ConfigEntity


class Unmeasured:
    """The feasible configs that were neither measured nor proposed."""

    def __init__(self, context: TunerContext) -> None:
        self._space = context.space
        self._name = f"{context.seed}/{context.task.key}"
        self._seen: set[int] = set()
        key = context.task.key
        self.mark(t.input.config for t in context.history if t.input.task.key == key)

    def __contains__(self, config: ConfigEntity) -> bool:
        return self._space.index(config) not in self._seen

    def mark(self, configs: Iterable[ConfigEntity]) -> None:
        """Leave these out from now on; configs that the space does not have are passed over."""
        for config in configs:
            index = self._space.find(config)
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

    def draw(
        self, generator: random.Random, count: int, *, balanced: bool = False
    ) -> list[ConfigEntity]:
        """Distinct unmeasured configs at random; fewer only where fewer are left.

        Every config is equally likely, or every alternative where `balanced`.
        """
        return self._space.sample(generator, count, exclude=self._seen, balanced=balanced)
