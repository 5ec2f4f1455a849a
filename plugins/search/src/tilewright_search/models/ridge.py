"""Ridge regression: the cost model that needs nothing but numpy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tilewright.errors import UsageError
from tilewright.options import Options
from tilewright.reading import read_file
from tilewright_search.models.features import Floats
from tilewright_search.models.signature import FeatureSignature

if TYPE_CHECKING:
    from tilewright.host.contexts import TunerContext


class RidgeOptions(Options):
    """Options of the cost model `ridge`."""

    penalty: float = Field(
        1.0, ge=1e-6, allow_inf_nan=False, description="factor of the squares of the weights"
    )


class RidgeModel:
    """Least squares on features and their squares, so that a best value may lie mid-range."""

    def __init__(self, penalty: float = 1.0) -> None:
        self._penalty = penalty
        self._mean: NDArray[Any] = np.zeros(0)
        self._scale: NDArray[Any] = np.ones(0)
        self._weights: NDArray[Any] = np.zeros(0)

    def fit(self, features: Floats, scores: Floats, groups: NDArray[np.int64]) -> None:
        precise = features.astype(np.float64)
        self._mean = precise.mean(axis=0)
        deviation = precise.std(axis=0)
        self._scale = np.where(deviation > 1e-9, deviation, 1.0)
        inputs = self._expand(features)
        targets = scores.astype(np.float64)
        for group in np.unique(groups):
            targets[groups == group] -= targets[groups == group].mean()
        normal = inputs.T @ inputs + self._penalty * np.eye(inputs.shape[1])
        self._weights = np.linalg.solve(normal, inputs.T @ targets)

    def predict(self, features: Floats) -> Floats:
        predicted: Floats = (self._expand(features) @ self._weights).astype(np.float32)
        return predicted

    def save_model(self, path: Path, signature: FeatureSignature) -> None:
        learned = {name: values.tolist() for name, values in self._learned().items()}
        path.write_text(json.dumps({"ridge": learned, **signature.to_json()}), encoding="utf-8")

    def load_model(self, path: Path) -> FeatureSignature:
        try:
            data = json.loads(read_file(path))
            mean, scale, weights = (
                np.array(data["ridge"][name], np.float64) for name in self._learned()
            )
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise UsageError(
                f"no ridge model: {error}", where=str(path), remedy="give a .json of one"
            ) from None
        signature = FeatureSignature.from_json(data, path)
        if not (mean.shape == scale.shape == (len(signature.names),)) or (
            weights.shape != (2 * len(mean),)
        ):
            raise UsageError("a ridge model with numbers missing", where=str(path))
        self._mean, self._scale, self._weights = mean, scale, weights
        return signature

    def _learned(self) -> dict[str, NDArray[Any]]:
        return {"mean": self._mean, "scale": self._scale, "weights": self._weights}

    def _expand(self, features: Floats) -> NDArray[np.float64]:
        standard = np.clip((features - self._mean) / self._scale, -4, 4)
        return np.concatenate([standard, standard**2 - 1], axis=1)


def make_ridge(options: RidgeOptions, _context: TunerContext) -> RidgeModel:
    """The factory of the cost model `ridge`."""
    return RidgeModel(options.penalty)
