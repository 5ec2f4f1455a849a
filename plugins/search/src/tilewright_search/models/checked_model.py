"""A cost model in use: what it does wrong bears its name, its plugin, and where it is written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.plugins.blamed import Blamed
from tilewright_search.models.features import Floats
from tilewright_search.models.interface import CostModel, SavesModels

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright_search.models.signature import FeatureSignature


def checked_model(model: Any, host: PluginHost, name: str) -> CostModel:
    """The model with its predictions checked; it can be saved where the model can."""
    kind = _SavingModel if isinstance(model, SavesModels) else _CheckedModel
    made: Any = kind(model, host, "cost_model", name)
    checked: CostModel = made
    return checked


class _CheckedModel(Blamed):
    def predict(self, features: Floats) -> Floats:
        with self.blaming():
            scores: Floats = self._instance.predict(features)
            if np.shape(scores) != (len(features),) or not np.isfinite(scores).all():
                raise ValueError(
                    f"predict() gave {str(scores)[:60]!r}; expected a finite number for each of "
                    f"{len(features)} rows"
                )
            return scores


class _SavingModel(_CheckedModel):
    def save_model(self, path: Path, signature: FeatureSignature) -> None:
        with self.blaming():
            self._instance.save_model(path, signature)

    def load_model(self, path: Path) -> FeatureSignature:
        with self.blaming():
            signature: FeatureSignature = self._instance.load_model(path)
            return signature
