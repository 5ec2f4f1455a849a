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
    from tilewright.host.plugin_host import PluginHost
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.task import Task
    from tilewright_search.models.experience import Experience


class Ranker:
    """Scores configs by a cost model that is fitted on the trials of the run."""

    def __init__(self, experience: Experience, model: CostModel) -> None:
        self.experience = experience
        self._model = model
        self._columns: list[int] = []

    def fit(self, task: Task) -> None:
        """Train again for a task, from its trials and from others of its operator."""
        features, scores, groups = self.experience.rows(task)
        self._columns = self._told(features)
        self._model.fit(features[:, self._columns], scores, groups)

    def score(self, task: Task, configs: Sequence[ConfigEntity]) -> Floats:
        """Higher is faster; columns that the fit has not seen are left out."""
        features = self.experience.features(task, configs)
        return self._model.predict(features[:, self._columns])

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
