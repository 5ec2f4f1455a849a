"""What a tuner asks of a cost model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tilewright_search.cost_model.signature import Signature

Floats = NDArray[np.float32]


class CostModel(Protocol):
    """Learns which configs are fast.

    >>> model = factory(options, context)
    >>> model.fit(features, scores, groups)   # from scratch each time, whatever was learned before
    >>> model.predict(other_features)         # higher is faster; only the order means something
    >>> model.save(path, signature)           # a later `load` gives the signature back
    """

    def fit(self, features: Floats, scores: Floats, groups: NDArray[np.int64]) -> None:
        """Learn from n rows: features (n, k) finite, scores (n,) in [0, 1], groups (n,) ascending.

        A group is a task's number. A score is the throughput as a share of the best of its task, 0
        for a failed config. Scores of different groups are not comparable. Any n >= 1 and constant
        scores are fine.
        """
        ...

    def predict(self, features: Floats) -> Floats:
        """One finite number a row, higher for a config taken to be faster; `fit` comes first."""
        ...

    def save(self, path: Path, signature: Signature) -> None:
        """Write what was learned as JSON, or as UBJSON where the model has it and `.ubj` asks."""
        ...

    def load(self, path: Path) -> Signature:
        """Take over what was saved. Raises UsageError for a file that is no model of this kind."""
        ...
