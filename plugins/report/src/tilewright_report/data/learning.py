"""How well a cost model would have known the second half of a task's trials from the first."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import UsageError
from tilewright.host.contexts import TunerContext
from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright.space.config_space import ConfigSpace
from tilewright_report.data.records import TunedTask

_FEWEST = 24
_MOST = 240


@dataclass(frozen=True, slots=True)
class Foresight:
    """Of each trial of the second half: what was predicted and what was measured, as ranks in %.

    model    the cost model's name
    pairwise share of pairs that it put in their order
    """

    model: str
    pairs: tuple[tuple[float, float], ...]
    pairwise: float


def foresight(tuned: TunedTask) -> Foresight | None:
    """By the best installed cost model; None without one, or with too few trials to tell."""
    host = tuned.history.host
    if "cost_model" not in host.roles():
        return None
    records = tuned.sample(_MOST)
    if len(records) < _FEWEST:
        return None
    configs = [host.present(record.config) for record in records]
    seconds = np.array([record.seconds for record in records], float)
    try:
        features: Any = host.decide(
            "tilewright_featurize",
            lambda told: "" if hasattr(told, "rows") else "expected Features",
            task=tuned.task,
            configs=configs,
            host=host,
        )
    except (UsageError, ValueError, KeyError, TypeError):
        return None  # configs of another revision have no programs any more
    if features is None:
        return None
    rows = np.nan_to_num(np.asarray(features.rows, np.float32))
    context = TunerContext(tuned.task, ConfigSpace(()), 0, (), host, lambda _, make: make())
    name, model = _model(host, context)
    if model is None:
        return None
    half = len(records) // 2
    scores = (seconds.min() / seconds).astype(np.float32)
    model.fit(rows[:half], scores[:half], np.zeros(half, np.int64))
    predicted = np.asarray(model.predict(rows[half:]), float)
    measured = scores[half:]
    pairs = zip(_ranks(predicted), _ranks(measured), strict=True)
    return Foresight(name, tuple(pairs), _pairwise(measured, predicted))


def _model(host: PluginHost, context: TunerContext) -> tuple[str, Any]:
    """The default, else the first of the others that can be imported."""
    default = ""
    with suppress(UsageError):  # where there is none, or several
        default = host.default("cost_model")
    for name in sorted(host.components("cost_model"), key=lambda name: name != default):
        with suppress(ImportError, UsageError):
            return name, host.choose("cost_model", Choice(name), context)
    return "", None


def _ranks(values: Any) -> list[float]:
    order = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    return [float(rank) / max(1, len(values) - 1) * 100 for rank in order]


def _pairwise(measured: Any, predicted: Any) -> float:
    truly = np.sign(measured[:, None] - measured[None, :])
    supposed = np.sign(predicted[:, None] - predicted[None, :])
    different = truly != 0
    if not different.any():
        return 0.5
    return float(((truly * supposed)[different] + 1).mean() / 2)
