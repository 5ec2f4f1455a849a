"""What a run has measured so far, as rows to learn from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import islice
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
    """One task's trials: seconds (None: failed) by config, and the first so many's features.

    scores   of all of them (see `scores_of`), None where there are new ones
    """

    task: Task
    seconds: dict[ConfigEntity, float | None] = field(default_factory=dict)
    rows: Floats = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    scores: Floats | None = None


class Experience:
    """The trials of all tasks of a run, so that each tuner learns from the others' tasks."""

    def __init__(self, host: PluginHost, kind: FeatureKind) -> None:
        self._featurizer = Featurizer(host, kind)
        self._limit = _FOREIGN_ROWS[kind]
        self._known: dict[str, _Known] = {}
        self._counts: Counter[tuple[str, str]] = Counter()  # by operator and alternative
        self._taken = 0  # of the history
        self._latest: Trial | None = None

    @classmethod
    def of(cls, context: TunerContext, kind: FeatureKind) -> Experience:
        """The run's experience in features of a kind, with the context's history in it."""
        experience: Experience = context.shared(
            f"tilewright_search.models.experience.{kind}", lambda: cls(context.host, kind)
        )
        experience._take(context.history)
        return experience

    def _take(self, history: Sequence[Trial]) -> None:
        """Add what is new of a run's history, which grows at its end and which every tuner gets."""
        known = self._taken
        if known and (known > len(history) or history[known - 1] is not self._latest):
            known = 0  # another one
        self.add(history[known:])
        self._taken = len(history)
        self._latest = history[-1] if history else None

    def add(self, trials: Sequence[Trial]) -> None:
        """Remember trials of any task; a config measured again counts with its last result.

        Failures that are not the config's fault are ignored.
        """
        for trial in trials:
            if trial.result.spoiled:
                continue
            task = trial.input.task
            known = self._known.get(task.key) or self._known.setdefault(task.key, _Known(task))
            config = trial.input.config
            if config not in known.seconds:
                self._counts[task.workload.operator, config.strategy] += 1
            known.seconds[config], known.scores = trial.result.seconds, None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of `rows`."""
        return self._featurizer.names

    def count(self, task: Task, alternatives: Collection[str]) -> int:
        """How many trials of these alternatives are known, over all tasks of the operator."""
        return sum(self._counts[task.workload.operator, name] for name in alternatives)

    def trials(self, task: Task) -> int:
        """How many trials of this very task are known."""
        return len(self._known[task.key].seconds) if task.key in self._known else 0

    def best(self, task: Task) -> list[ConfigEntity]:
        """The configs of the task that did not fail, fastest first."""
        seconds = self._known[task.key].seconds if task.key in self._known else {}
        timed = [(value, config) for config, value in seconds.items() if value is not None]
        return [config for _, config in sorted(timed, key=lambda pair: pair[0])]

    def features(self, task: Task, configs: Sequence[ConfigEntity]) -> Floats:
        """One row a config, in the columns of `rows`."""
        return self._featurizer.rows(task, configs)

    def own(self, task: Task) -> list[ConfigEntity]:
        """The configs of the task that `rows` ends with."""
        known = self._known.get(task.key)
        if known is None:
            return []
        configs = list(known.seconds)
        return [configs[place] for place in _telling(_scores(known))]

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
            own = self._known[task.key]
            taken.append((own, _telling(_scores(own))))
        features = [self._features(known, int(rows.max()) + 1)[rows] for known, rows in taken]
        ends = np.cumsum([0, *map(len, features)])
        stacked = np.zeros((ends[-1], len(self.names)), np.float32)
        for part, start, end in zip(features, ends[:-1], ends[1:], strict=True):
            stacked[start:end, : part.shape[1]] = part
        scores = np.concatenate([_scores(known)[rows] for known, rows in taken])
        groups = np.repeat(np.arange(len(taken)), np.diff(ends))
        return stacked, scores, groups

    def _features(self, known: _Known, count: int) -> Floats:
        fresh = list(islice(known.seconds, len(known.rows), count))
        if fresh:
            rows = self._featurizer.rows(known.task, fresh)
            known.rows = np.concatenate([widen(known.rows, rows.shape[1]), rows])
        return known.rows[:count]


def _scores(known: _Known) -> Floats:
    if known.scores is None:
        known.scores = scores_of(known.seconds)
    return known.scores


def _telling(scores: Floats) -> NDArray[np.int64]:
    """Which of a task's trials to learn from: all, or the fastest half and the latest half."""
    count = len(scores)
    if count <= _OWN_ROWS:
        return np.arange(count)
    fastest = np.argsort(-scores, kind="stable")[: _OWN_ROWS // 2]
    return np.union1d(fastest, np.arange(count - _OWN_ROWS // 2, count))


def scores_of(seconds: dict[ConfigEntity, float | None]) -> Floats:
    """Throughputs of one task's configs as shares of the best, 0 for a failure (None)."""
    best = min((value for value in seconds.values() if value is not None), default=1.0)
    return np.array([best / value if value else 0.0 for value in seconds.values()], np.float32)
