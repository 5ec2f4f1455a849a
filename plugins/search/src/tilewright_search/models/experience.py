"""What a run has measured so far, as rows to learn from."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tilewright_search.models.features import FeatureKind, Floats
from tilewright_search.models.featurizer import Featurizer, widen

if TYPE_CHECKING:
    from tilewright.host.contexts import TunerContext
    from tilewright.host.plugin_host import PluginHost
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.measure import Trial
    from tilewright.vocabulary.task import Task

# More rows of other tasks teach little more; they make every fit dearer, and of loop features each
# costs as much as lowering its program.
_FOREIGN_ROWS = {"knobs": 768, "loops": 192}

# Of a task's own trials so many at most are fitted, that a fit's time stays what it is after some
# ten seconds of tuning: the fastest, between which the model is to tell, and the latest.
_OWN_ROWS = 512


@dataclass
class _Known:
    """One task's trials: seconds (None: failed) by config, and the first so many's features."""

    task: Task
    seconds: dict[ConfigEntity, float | None] = field(default_factory=dict)
    rows: Floats = field(default_factory=lambda: np.zeros((0, 0), np.float32))


class Experience:
    """The trials of all tasks of a run, so that each tuner learns from the others' tasks."""

    def __init__(self, host: PluginHost, kind: FeatureKind) -> None:
        self._featurizer = Featurizer(host, kind)
        self._limit = _FOREIGN_ROWS[kind]
        self._known: dict[str, _Known] = {}

    @classmethod
    def of(cls, context: TunerContext, kind: FeatureKind) -> Experience:
        """The run's experience in features of a kind, with the context's history in it."""
        experience: Experience = context.shared(
            f"tilewright_search.models.experience.{kind}", lambda: cls(context.host, kind)
        )
        experience.add(context.history)
        return experience

    def add(self, trials: Sequence[Trial]) -> None:
        """Remember trials of any task; a config measured again counts with its last result.

        Failures that are not the config's fault are ignored.
        """
        for trial in trials:
            if trial.result.spoiled:
                continue
            task = trial.input.task
            known = self._known.setdefault(task.key, _Known(task))
            known.seconds[trial.input.config] = trial.result.seconds

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of `rows`."""
        return self._featurizer.names

    def count(self, task: Task, alternatives: Collection[str]) -> int:
        """How many trials of these alternatives are known, over all tasks of the operator."""
        return sum(
            config.strategy in alternatives
            for known in self._known.values()
            if known.task.workload.operator == task.workload.operator
            for config in known.seconds
        )

    def best(self, task: Task) -> list[ConfigEntity]:
        """The configs of the task that did not fail, fastest first."""
        seconds = self._known[task.key].seconds if task.key in self._known else {}
        timed = [(value, config) for config, value in seconds.items() if value is not None]
        return [config for _, config in sorted(timed, key=lambda pair: pair[0])]

    def features(self, task: Task, configs: Sequence[ConfigEntity]) -> Floats:
        """One row a config, in the columns of `rows`."""
        return self._featurizer.rows(task, configs)

    def rows(self, task: Task) -> tuple[Floats, Floats, NDArray[np.int64]]:
        """Features, scores and groups to fit: the task's trials, and others of its operator.

        A score is best seconds / seconds within a task, 0 for a failure; the groups number the
        tasks. Of the other tasks only the first trials count, equally many of each: these are
        spread over the space, and the same ones every time. Of many own ones the fastest count and
        the latest.
        """
        foreign = [
            known
            for key, known in self._known.items()
            if key != task.key and known.task.workload.operator == task.workload.operator
        ]
        share = -(-self._limit // max(1, len(foreign)))
        taken = [(known, np.arange(min(share, len(known.seconds)))) for known in foreign]
        if task.key in self._known:
            taken.append((self._known[task.key], _telling(self._known[task.key].seconds)))
        features = [self._features(known, int(rows.max()) + 1)[rows] for known, rows in taken]
        width = len(self.names)
        stacked = np.concatenate([widen(rows, width) for rows in features])
        scores = np.concatenate([scores_of(known.seconds)[rows] for known, rows in taken])
        groups = np.repeat(np.arange(len(taken)), [len(rows) for _, rows in taken])
        return stacked, scores, groups

    def _features(self, known: _Known, count: int) -> Floats:
        fresh = list(known.seconds)[len(known.rows) : count]
        if fresh:
            rows = self._featurizer.rows(known.task, fresh)
            known.rows = np.concatenate([widen(known.rows, rows.shape[1]), rows])
        return known.rows[:count]


def _telling(seconds: dict[ConfigEntity, float | None]) -> NDArray[np.int64]:
    """Which of a task's trials to learn from: all, or the fastest half and the latest half."""
    count = len(seconds)
    if count <= _OWN_ROWS:
        return np.arange(count)
    fastest = np.argsort(-scores_of(seconds), kind="stable")[: _OWN_ROWS // 2]
    return np.union1d(fastest, np.arange(count - _OWN_ROWS // 2, count))


def scores_of(seconds: dict[ConfigEntity, float | None]) -> Floats:
    """Throughputs of one task's configs as shares of the best, 0 for a failure (None)."""
    best = min((value for value in seconds.values() if value is not None), default=1.0)
    return np.array([best / value if value else 0.0 for value in seconds.values()], np.float32)
