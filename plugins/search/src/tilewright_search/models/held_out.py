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
    """Means over tasks, and the seconds that rows (each) and a fit took.

    recall       share of the best 16 that is among the predicted best 16
    pairwise     share of pairs that are predicted in their order
    correlation  of the ranks (Spearman)
    regret       share of the best performance that the predicted best 16 lack
    """

    recall: float
    pairwise: float
    correlation: float
    regret: float
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
        judged = []
        for held, own in enumerate(self._tasks):
            operator = own.task.workload.operator
            known = [
                place
                for place, other in enumerate(self._tasks)
                if place != held and other.task.workload.operator == operator
            ]
            if known and own.scores.any():
                fitted = self._stacked(known)
                judged.append(_judged(make(), fitted, self._parts[held], own.scores))
        return self._mean(judged)

    def evaluate_within(self, make: Callable[[], CostModel], rows: int) -> Quality | None:
        """Fit on the first trials of each task and predict its others; None where none has more."""
        judged = []
        for part, own in zip(self._parts, self._tasks, strict=True):
            rest = own.scores[rows:]
            if len(rest) >= _FEWEST and rest.any():
                fitted = part[:rows], own.scores[:rows], np.zeros(rows, np.int64)
                judged.append(_judged(make(), fitted, part[rows:], rest))
        return self._mean(judged)

    def save(self, model: SavesModels, path: Path) -> None:
        """Fit on every task and write the model."""
        model.fit(*self._stacked(range(len(self._tasks))))
        model.save_model(path, self.signature)

    def _mean(self, judged: Sequence[tuple[float, ...]]) -> Quality | None:
        if not judged:
            return None
        *means, fit = (fmean(column) for column in zip(*judged, strict=True))
        recalled, pairs, ranks, lost = means
        return Quality(recalled, pairs, ranks, lost, len(judged), self.seconds, fit)

    def _stacked(self, places: Sequence[int]) -> tuple[Floats, Floats, NDArray[np.int64]]:
        parts = [self._parts[place] for place in places]
        groups = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        scores = np.concatenate([self._tasks[place].scores for place in places])
        return np.concatenate(parts), scores, groups


def _judged(
    model: CostModel,
    fitted: tuple[Floats, Floats, NDArray[np.int64]],
    features: Floats,
    scores: Floats,
) -> tuple[float, ...]:
    """Recall, pairwise accuracy, correlation and regret of a model, and the seconds of its fit."""
    start = time.perf_counter()
    model.fit(*fitted)
    took = time.perf_counter() - start
    predicted = model.predict(features)
    judges = (recall, pairwise_accuracy, rank_correlation, regret)
    return (*(judge(scores, predicted) for judge in judges), took)


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


def rank_correlation(scores: Floats, predicted: Floats) -> float:
    """Spearman's: the correlation of the ranks, of ties their mean; 0 where all are equal."""
    first, second = _ranks(scores), _ranks(predicted)
    if not (np.ptp(first) and np.ptp(second)):
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])


def regret(scores: Floats, predicted: Floats) -> float:
    """The share of the best performance that none of the predicted best 16 reaches."""
    found = scores[np.argsort(-predicted, kind="stable")[:TOP]].max()
    return float(1 - found / scores.max())


def _ranks(values: Floats) -> NDArray[np.float64]:
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: NDArray[np.float64] = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return ranks
