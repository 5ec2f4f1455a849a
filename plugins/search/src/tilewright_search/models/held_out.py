"""How well cost models rank the trials of tasks that they have not seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tilewright_search.models.experience import scores_of
from tilewright_search.models.features import FeatureKind, Floats
from tilewright_search.models.featurizer import Featurizer, widen
from tilewright_search.models.interface import CostModel, SavesModels
from tilewright_search.models.signature import FeatureSignature

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.measure import Trial
    from tilewright.vocabulary.task import Task

TOP = 16
_FEWEST = 2 * TOP


@dataclass(frozen=True, slots=True)
class TaskTrials:
    """A task's configs and their scores: best seconds / seconds, 0 for a failure."""

    task: Task
    configs: tuple[ConfigEntity, ...]
    scores: Floats

    @classmethod
    def group(cls, trials: Iterable[Trial], limit: int) -> list[TaskTrials]:
        """By task, the first `limit` configs; tasks with fewer than 32 are left out.

        Cold and warm times are not comparable: of a task that has both, those count of which there
        are more.
        """
        seconds: dict[Task, dict[str, dict[ConfigEntity, float | None]]] = {}
        for trial in trials:
            if not trial.result.spoiled:
                both = seconds.setdefault(trial.input.task, {})
                own = both.setdefault(trial.input.conditions.constants, {})
                if len(own) < limit or trial.input.config in own:
                    own[trial.input.config] = trial.result.seconds
        return [
            cls(task, tuple(own), scores_of(own))
            for task, both in seconds.items()
            if len(own := max(both.values(), key=len)) >= _FEWEST
        ]


@dataclass(frozen=True, slots=True)
class Quality:
    """Means over tasks held out, and the seconds that rows (each) and a fit took."""

    recall: float
    pairwise: float
    tasks: int
    row_seconds: float
    fit_seconds: float


class FeatureTable:
    """The features of all tasks' trials in one table."""

    def __init__(self, host: PluginHost, kind: FeatureKind, tasks: Sequence[TaskTrials]) -> None:
        featurizer = Featurizer(host, kind)
        start = time.perf_counter()
        parts = [featurizer.rows(each.task, each.configs) for each in tasks]
        total = sum(len(part) for part in parts)
        self.seconds = (time.perf_counter() - start) / max(1, total)
        self.signature = FeatureSignature(kind, featurizer.names)
        self._tasks = tasks
        self._parts = [widen(part, len(featurizer.names)) for part in parts]

    def evaluate(self, make: Callable[[], CostModel]) -> Quality | None:
        """Hold out every task that has others of its operator; None where there is none."""
        recalls, pairs, fits = [], [], []
        for held, own in enumerate(self._tasks):
            operator = own.task.workload.operator
            known = [
                place
                for place, other in enumerate(self._tasks)
                if place != held and other.task.workload.operator == operator
            ]
            if not known or not own.scores.any():
                continue
            model = make()
            start = time.perf_counter()
            model.fit(*self._stacked(known))
            fits.append(time.perf_counter() - start)
            predicted = model.predict(self._parts[held])
            recalls.append(recall(own.scores, predicted))
            pairs.append(pairwise_accuracy(own.scores, predicted))
        if not fits:
            return None
        return Quality(fmean(recalls), fmean(pairs), len(fits), self.seconds, fmean(fits))

    def save(self, model: SavesModels, path: Path) -> None:
        """Fit on every task and write the model."""
        model.fit(*self._stacked(range(len(self._tasks))))
        model.save_model(path, self.signature)

    def _stacked(self, places: Sequence[int]) -> tuple[Floats, Floats, NDArray[np.int64]]:
        parts = [self._parts[place] for place in places]
        groups = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        scores = np.concatenate([self._tasks[place].scores for place in places])
        return np.concatenate(parts), scores, groups


def recall(scores: Floats, predicted: Floats) -> float:
    """The share of the best 16 that is among the predicted best 16."""
    truly, supposed = (set(np.argsort(-v, kind="stable")[:TOP]) for v in (scores, predicted))
    return len(truly & supposed) / TOP


def pairwise_accuracy(scores: Floats, predicted: Floats) -> float:
    """The share of pairs of different scores that are predicted in their order; ties are half."""
    truly = np.sign(scores[:, None] - scores[None, :])
    supposed = np.sign(predicted[:, None] - predicted[None, :])
    different = truly != 0
    if not different.any():
        return 0.5
    return float(((truly * supposed)[different] + 1).mean() / 2)
