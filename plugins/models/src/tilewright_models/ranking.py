"""Orders the configs of a task by the model, for a tuner to begin with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tilewright_models.columns import aligned, features

if TYPE_CHECKING:
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.device import Device
    from tilewright.vocabulary.task import Task
    from tilewright_models.cost_model import CostModel
    from tilewright_search.models.features import Floats


@dataclass(frozen=True)
class ModelRanking:
    """A `Ranking` by the mean member of a model.

    starts  what was fast for similar workloads, the most similar first
    """

    task: Task
    device: Device
    model: CostModel
    starts: tuple[ConfigEntity, ...]

    @cached_property
    def told(self) -> str:
        """What the model was trained on, and in how much of the order its members agree."""
        found = f"model: {len(self.starts)} configs that were fast for similar workloads"
        if len(self.starts) > 1:
            share = agreement(self._members(self.starts))
            found += f", of whose order its members agree on {share:.0%}"
        return f"{found}; {self.model.told}"

    def scores(self, configs: Sequence[ConfigEntity]) -> list[float]:
        mean: list[float] = self._members(configs).mean(axis=0).tolist()
        return mean

    def _members(self, configs: Sequence[ConfigEntity]) -> Floats:
        told = features(self.task, configs, self.device)
        return self.model.scores(aligned(told, self.model.columns))


def agreement(scores: Floats) -> float:
    """Of scores of shape (members, configs): the share of pairs that a member orders as the mean.

    Ties of a member agree by half. 1 of a single config.
    """
    upper = np.triu_indices(scores.shape[1], 1)
    orders = np.sign(scores[:, :, None] - scores[:, None, :])[:, upper[0], upper[1]]
    means = scores.mean(axis=0)
    mean = np.sign(means[:, None] - means[None, :])[upper]
    return float((orders * mean + 1).mean() / 2) if mean.size else 1.0
