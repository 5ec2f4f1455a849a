"""Cost models together with the features that they see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tilewright_search.models.features import Floats
from tilewright_search.models.featurizer import Featurizer, widen
from tilewright_search.models.interface import CostModel, saving
from tilewright_search.models.knob_features import present_column

if TYPE_CHECKING:
    from tilewright.host.contexts import Prior
    from tilewright.host.plugin_host import PluginHost
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.task import Task
    from tilewright_search.models.experience import Experience


# What a prior says counts as much as so many trials of the task: the speed as a share of the
# fastest's, by its ratings of what worked, to the power that the default model's labels have.
_TRIALS, _POWER = 16, 4


class Ranker:
    """Scores configs by a cost model that is fitted on the trials of the run.

    prior   what was learned before the run: the model goes on from there, for it is one more
            column, of other tasks' rows 0, and is added to the score, the less the more trials
            there are
    """

    def __init__(
        self, experience: Experience, model: CostModel, prior: Prior | None = None
    ) -> None:
        self.experience = experience
        self._model = model
        self._prior = prior
        self._columns: list[int] = []
        self._own, self._highest = 0, 0.0

    def fit(self, task: Task) -> None:
        """Train again for a task, from its trials and from others of its operator."""
        features, scores, groups = self.experience.rows(task)
        self._columns = self._told(features)
        own = self.experience.own(task)
        rated = self._rated(own)
        worked = scores[len(scores) - len(own) :] > 0
        self._own = self.experience.trials(task)
        self._highest = float(rated[worked].max(initial=-np.inf))
        self._model.fit(self._known(features, rated), scores, groups)

    def score(self, task: Task, configs: Sequence[ConfigEntity]) -> Floats:
        """Higher is faster; columns that the fit has not seen are left out."""
        rated = self._rated(configs)
        known = self._known(self.experience.features(task, configs), rated)
        scores = self._model.predict(known)
        if self._prior is None or not self._own:
            return scores
        speeds = np.exp(_POWER * np.minimum(rated - self._highest, 0))
        added: Floats = scores + _TRIALS / self._own * speeds
        return added

    def _rated(self, configs: Sequence[ConfigEntity]) -> Floats:
        if self._prior is None:
            return np.zeros(len(configs), np.float32)
        return np.fromiter(self._prior(configs), np.float32)

    def _known(self, features: Floats, rated: Floats) -> Floats:
        """The columns that say something, and what the prior says of the last rows' configs."""
        rows = features[:, self._columns]
        if self._prior is None:
            return rows
        column = np.zeros((len(rows), 1), np.float32)
        column[len(rows) - len(rated) :, 0] = rated
        return np.hstack([rows, column])

    def _told(self, features: Floats) -> list[int]:
        """The columns that say something of these rows, in the order in which trials came to them.

        Numbers of columns tell in which order configs were looked at, and trees break ties by them:
        a search that was stopped would go on otherwise than an unbroken one.
        """
        names, first = self.experience.names, (features != 0).argmax(axis=0)
        told = np.flatnonzero(features.any(axis=0)).tolist()
        # no model learns from no column
        return sorted(told, key=lambda column: (first[column], names[column])) or [0]


class PretrainedRanker:
    """Scores configs by a cost model from a file; features that it does not know are left out."""

    def __init__(self, path: Path, model: CostModel, host: PluginHost) -> None:
        self._path = path
        self._model = model
        saved = saving(model, str(path)).load_model(path)
        names = tuple(present_column(name, host.revisions) for name in saved.names)
        self._signature = replace(saved, names=names)
        self._featurizer = Featurizer(host, self._signature.kind)

    def knows(self, task: Task, configs: Sequence[ConfigEntity]) -> bool:
        """Whether it was fitted on an alternative of these. Raises UsageError for other columns."""
        self._featurizer.rows(task, configs)
        return self._signature.knows(self._featurizer.names, self._path)

    def score(self, task: Task, configs: Sequence[ConfigEntity]) -> Floats:
        """Higher is faster."""
        rows = self._featurizer.rows(task, configs)
        names = self._featurizer.names
        place = {name: column for column, name in enumerate(names)}
        zero = len(names)
        order = [place.get(name, zero) for name in self._signature.names]
        return self._model.predict(widen(rows, zero + 1)[:, order])
