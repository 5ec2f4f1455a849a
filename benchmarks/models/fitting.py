"""Fits members on tables of trials, and judges them on what they have not seen."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xgboost  # noqa: TID253  this is what it is for
from trials import TaskTable

from tilewright.host.plugin_host import PluginHost
from tilewright_models.advisor import LEAST_GAIN
from tilewright_models.columns import aligned
from tilewright_models.cost_model import Machine
from tilewright_search.models.features import Floats
from tilewright_search.models.trees import Trees

MEMBERS, ROUNDS = 5, 100
_SHARE = 0.7  # of the workloads, that a member learns from
_SLOWEST = -4.0  # ln of a failure's speed, and of what is slower than a fiftieth
_PARAMETERS = {
    "objective": "reg:squarederror",
    "max_depth": 6,
    "eta": 0.12,
    "min_child_weight": 2,
    "lambda": 2.0,
    "subsample": 0.8,
    "colsample_bynode": 0.4,
    "tree_method": "hist",
    "max_bin": 128,
    "nthread": 1,
    "verbosity": 0,
}


@dataclass(frozen=True)
class Judgement:
    """Of workloads held out: ms of their kernels, each as often as it occurs, by who chooses.

    what      the network or the machine that the members have not seen
    best      the fastest config that was measured
    chosen    of the configs measured, that which the mean member takes for the fastest
    sure      that where the members agree, else the fallback
    fallback  what the strategies advise
    """

    what: str
    workloads: int
    best: float
    chosen: float
    sure: float
    fallback: float


def labels(table: TaskTable) -> Floats:
    """ln(best seconds / seconds) of a task's trials."""
    with np.errstate(invalid="ignore"):
        found = np.log(np.nanmin(table.seconds) / table.seconds)
    return np.maximum(np.nan_to_num(found, nan=_SLOWEST), _SLOWEST).astype(np.float32)


def columns_of(tables: Sequence[TaskTable]) -> tuple[str, ...]:
    """Every column that says something, sorted."""
    told = {
        name
        for table in tables
        for name, some in zip(table.features.names, table.features.rows.any(axis=0), strict=True)
        if some
    }
    return tuple(sorted(told))


def fit(tables: Sequence[TaskTable], columns: Sequence[str], seed: int = 0) -> list[bytes]:
    """The members as xgboost's JSON, each of another part of the workloads."""
    rows = [aligned(table.features, columns) for table in tables]
    aims = [labels(table) for table in tables]
    worth = _worth(tables)
    generator = np.random.default_rng(seed)
    made = []
    for member in range(MEMBERS):
        some = generator.permutation(len(tables))[: max(1, round(_SHARE * len(tables)))]
        label = np.concatenate([aims[place] for place in some])
        # What tells the fast from each other counts more than how slow the slow are.
        weight = (np.exp(label) + 0.1) * np.concatenate([worth[place] for place in some])
        features = np.concatenate([rows[place] for place in some])
        data = xgboost.DMatrix(features, label=label, weight=weight, nthread=1)
        booster = xgboost.train({**_PARAMETERS, "seed": member}, data, num_boost_round=ROUNDS)
        made.append(bytes(booster.save_raw("json")))
    return made


def _worth(tables: Sequence[TaskTable]) -> list[Floats]:
    """Weights of each table's trials: a machine counts by the square root of its trials.

    Else one that has a tenth of another's trials is taken for that other one.
    """
    trials: Counter[Machine] = Counter()
    for table in tables:
        trials[table.machine] += len(table.configs)
    most = max(trials.values())
    return [
        np.full(len(table.configs), (most / trials[table.machine]) ** 0.5, np.float32)
        for table in tables
    ]


def trees_of(members: Sequence[bytes], columns: Sequence[str]) -> list[Trees]:
    """Members to predict with."""
    return [Trees.read(json.loads(member), len(columns)) for member in members]


def measured_fallbacks(tables: Sequence[TaskTable], host: PluginHost) -> dict[TaskTable, int]:
    """The place of the fallback among the configs, of the tables that have it there."""
    found = {}
    for table in tables:
        advised = host.fallback_config(table.task, host.space(table.task))
        if advised in table.configs:
            found[table] = table.configs.index(advised)
    return found


def judged(
    what: str,
    own: Mapping[TaskTable, float],
    fallbacks: Mapping[TaskTable, int],
    members: Sequence[Trees],
    columns: Sequence[str],
) -> Judgement:
    """By members that have not seen them.

    own         how often each occurs
    fallbacks   the places of theirs
    """
    total = np.zeros(4)
    for table, weight in own.items():
        fallback = fallbacks[table]
        rows = aligned(table.features, columns)
        scores = np.stack([member.sums(rows) for member in members])
        best = int(scores.mean(axis=0).argmax())
        gains = scores[:, best] - scores[:, fallback]
        is_sure = (gains > 0).sum() >= MEMBERS - 1 and np.exp(gains.mean()) >= LEAST_GAIN
        # A failure costs what the slowest config does.
        seconds = np.nan_to_num(table.seconds, nan=np.nanmax(table.seconds))
        careful = best if is_sure else fallback
        each = seconds.min(), seconds[best], seconds[careful], seconds[fallback]
        total += weight * np.array(each)
    return Judgement(what, len(own), *(total * 1e3))
