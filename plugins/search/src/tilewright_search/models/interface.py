"""What a tuner asks of a cost model."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import UsageError
from tilewright.plugins.blamed import Blamed
from tilewright_search.models.features import Floats
from tilewright_search.models.signature import FeatureSignature


class CostModel(Protocol):
    """Learns which configs are fast.

    >>> model = factory(options, context)
    >>> model.fit(features, scores, groups)   # from scratch each time, whatever was learned before
    >>> model.predict(other_features)         # higher is faster
    """

    def fit(self, features: Floats, scores: Floats, groups: NDArray[np.int64]) -> None:
        """Learn from n rows: features (n, k) finite, scores (n,) in [0, 1], groups (n,) ascending.

        A group is a task's number. A score is the throughput as a share of the best of its task, 0
        for a failed config. Scores of different groups are not comparable. Any n >= 1 and constant
        scores are fine.
        """

    def predict(self, features: Floats) -> Floats:
        """One finite number a row, higher for a config taken to be faster; `fit` comes first.

        Best of the size of scores: what a prior says of a config is added to it, from 0 to 1.
        """


@runtime_checkable
class SavesModels(CostModel, Protocol):
    """An optional part of a `CostModel`: what was learned can be kept in a file.

    >>> model.save_model(path, signature)
    >>> factory(options, context).load_model(path)  # the signature; it predicts as the saved one
    """

    def save_model(self, path: Path, signature: FeatureSignature) -> None:
        """Write what was learned as JSON."""

    def load_model(self, path: Path) -> FeatureSignature:
        """Load what was saved. Raises UsageError for a file of another kind of model."""


def saving(model: CostModel, where: str) -> SavesModels:
    """The model as one that can be saved and loaded. Raises UsageError where it cannot."""
    if not isinstance(model, SavesModels):
        named = str(model) if isinstance(model, Blamed) else type(model).__name__
        raise UsageError(
            f"the cost model {named} cannot be kept in a file",
            where=where,
            remedy="give it save_model and load_model, or take one that has them, such as ridge",
        )
    return model
