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
from tilewright_search.models.signature import FeatureSignature

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.roles import Ranking
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.task import Task
    from tilewright_search.models.experience import Experience


def shares_of(ranking: Ranking, configs: Sequence[ConfigEntity]) -> Floats:
    """What a ranking takes configs to reach of the best speed: some take a few to pass it."""
    scores = np.asarray(ranking.scores(configs) if configs else [], np.float32)
    if scores.shape != (len(configs),) or not np.isfinite(scores).all():
        raise ValueError(
            f"a ranking gave {str(scores)[:60]!r}; expected a finite number for each of "
            f"{len(configs)} configs: {ranking.told}"
        )
    shares: Floats = np.exp(np.minimum(scores, 1))
    return shares


class Ranker:
    """Scores configs by a cost model that is fitted on the trials of the run.

    What a ranking takes a config to reach is one more column: how far to trust it is learned as all
    else is. Rows of other tasks have 0 there, so that nothing depends on who was asked before.
    """

    def __init__(
        self, experience: Experience, model: CostModel, ranking: Ranking | None = None
    ) -> None:
        self.experience = experience
        self._model = model
        self._ranking = ranking
        self._columns: list[int] = []
        self._measured: dict[ConfigEntity, float] = {}

    def fit(self, task: Task) -> None:
        """Train again for a task, from its trials and from others of its operator."""
        features, scores, groups = self.experience.rows(task)
        self._columns = self._told(features)
        rows = features[:, self._columns]
        if self._ranking is not None:
            own = self.experience.own(task)
            fresh = [config for config in own if config not in self._measured]
            self._measured.update(zip(fresh, shares_of(self._ranking, fresh), strict=True))
            shares = np.zeros(len(rows), np.float32)
            shares[len(rows) - len(own) :] = [self._measured[config] for config in own]
            rows = np.column_stack([rows, shares])
        self._model.fit(rows, scores, groups)

    def score(self, task: Task, configs: Sequence[ConfigEntity]) -> Floats:
        """Higher is faster; columns that the fit has not seen are left out."""
        rows = self.experience.features(task, configs)[:, self._columns]
        if self._ranking is not None:
            rows = np.column_stack([rows, shares_of(self._ranking, configs)])
        return self._model.predict(rows)

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

    def check(self, task: Task, configs: Sequence[ConfigEntity]) -> None:
        """Raise UsageError where the model can say nothing of a task's configs."""
        if configs:
            self._featurizer.rows(task, configs)
            given = FeatureSignature(self._signature.kind, self._featurizer.names)
            self._signature.check(given, self._path)

    def score(self, task: Task, configs: Sequence[ConfigEntity]) -> Floats:
        """Higher is faster."""
        rows = self._featurizer.rows(task, configs)
        names = self._featurizer.names
        place = {name: column for column, name in enumerate(names)}
        zero = len(names)
        order = [place.get(name, zero) for name in self._signature.names]
        return self._model.predict(widen(rows, zero + 1)[:, order])
