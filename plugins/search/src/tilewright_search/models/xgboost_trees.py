"""Gradient-boosted trees on xgboost; the one file that imports it."""

from __future__ import annotations

import json
import logging
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tilewright.errors import UsageError
from tilewright.json_object import BadLineError, parse_object, sensible
from tilewright.options import Options
from tilewright.plugins.loading.distributions import installer
from tilewright.reading import open_file
from tilewright_search.models.features import Floats
from tilewright_search.models.interface import CostModel
from tilewright_search.models.ridge import RidgeModel
from tilewright_search.models.signature import FeatureSignature
from tilewright_search.models.trees import Trees

if TYPE_CHECKING:
    from tilewright.host.contexts import TunerContext

# A fit must cost less than a measurement: 64 trees of depth 5 take some 30 ms on 500 rows, where
# AutoTVM's stop rule went on for hundreds of rounds until the training set was learned by heart.
# Few rounds of a few trees each, whose mean errs less than one tree.
_ROUNDS, _TREES = 16, 4

# The label is this power of a score: splits go where the fast configs differ, not the slow ones.
_POWER = 4
_ATTRIBUTE = "tilewright"
_MOST_BYTES = 32 << 20  # of a file that is loaded
_OBJECTIVES = {"reg": "reg:squarederror", "rank": "rank:pairwise"}


class XgboostOptions(Options):
    """Options of the cost model `xgboost`."""

    loss: Literal["rank", "reg"] = Field(
        "reg", description="rank pairs within a task, or fit throughput"
    )


class XgboostModel:
    """Boosted trees on one thread with a fixed seed: equal data give an equal model.

    Those of a file are data of others, which xgboost reads without bounds: `Trees` reads them.
    """

    def __init__(self, loss: str, seed: int) -> None:
        import xgboost

        self._xgboost = xgboost
        self._loss = loss
        self._booster: Any = None
        self._loaded: Trees | None = None
        self._parameters = {
            "objective": _OBJECTIVES[loss],
            "max_depth": 5,
            "gamma": 1e-4,
            "min_child_weight": 1,
            "eta": 0.5,
            "num_parallel_tree": _TREES,
            "lambda": 1.0,
            # Few rows and many columns that say nearly the same: trees that see part of them err in
            # different ways, which took a tenth off the trials needed on recorded spaces.
            "subsample": 0.8,
            "colsample_bynode": 0.5,
            "tree_method": "hist",
            "max_bin": 64,
            "nthread": 1,
            "seed": seed % 2**31,
            "verbosity": 0,
        }

    def fit(self, features: Floats, scores: Floats, groups: NDArray[np.int64]) -> None:
        data = self._xgboost.DMatrix(features, label=scores**_POWER, nthread=1)
        if self._loss == "rank":
            data.set_info(qid=np.unique(groups, return_inverse=True)[1])
        self._loaded = None
        self._booster = self._xgboost.train(self._parameters, data, num_boost_round=_ROUNDS)

    def predict(self, features: Floats) -> Floats:
        if self._loaded is not None:
            return self._loaded.sums(features)
        predicted: Floats = self._booster.inplace_predict(features)
        return predicted

    def save_model(self, path: Path, signature: FeatureSignature) -> None:
        if self._booster is None:
            raise UsageError("nothing to save but what was loaded", remedy="copy its file")
        self._booster.set_attr(**{_ATTRIBUTE: json.dumps(signature.to_json())})
        path.write_bytes(self._booster.save_raw("json"))

    def load_model(self, path: Path) -> FeatureSignature:
        try:
            data = parse_object(_content(path).strip())
            signature = FeatureSignature.from_json(sensible(_told, data), path)
            self._booster = None
            self._loaded = sensible(lambda some: Trees.read(some, len(signature.names)), data)
        except (BadLineError, OSError) as error:
            raise UsageError(
                f"no xgboost model: {error}",
                where=str(path),
                remedy="write one with `tilewright bench models --save`",
            ) from None
        return signature


def _content(path: Path) -> bytes:
    with open_file(path) as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise BadLineError(f"more than {_MOST_BYTES} bytes")
    return content


def _told(data: dict[str, Any]) -> Any:
    """What `save_model` wrote of the features."""
    attributes = data["learner"]["attributes"]
    if not isinstance(attributes, dict) or _ATTRIBUTE not in attributes:
        raise BadLineError("nothing in it says what its features are")
    return json.loads(attributes[_ATTRIBUTE])


def what_xgboost_lacks() -> str:
    """What stands in for xgboost and how to get it; empty where it is installed."""
    return "" if find_spec("xgboost") else _stand_in()


def _stand_in() -> str:
    said = "xgboost is not installed, a ridge regression stands in"
    return f"{said}: {installer()} install 'tilewright[xgb]'"


@cache
def _say_that_xgboost_is_missing() -> None:
    logging.getLogger("tilewright").warning("%s", _stand_in())


def make_xgboost(options: XgboostOptions, context: TunerContext) -> CostModel:
    """The factory of the cost model `xgboost`; a ridge regression where it is not installed."""
    if find_spec("xgboost") is None:
        _say_that_xgboost_is_missing()
        return RidgeModel()
    return XgboostModel(options.loss, context.seed)
