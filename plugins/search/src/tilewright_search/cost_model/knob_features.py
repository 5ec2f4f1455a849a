"""The default features: knob values (AutoTVM's type `knob`), tiles and the workload's size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tilewright.config import ConfigEntity
from tilewright.task import Task
from tilewright_search.cost_model.features import Features

Leaves = tuple[tuple[str, float], ...]


def knob_features(task: Task, configs: Sequence[ConfigEntity]) -> Features:
    """Numbers as signed log2(1 + |x|), words as one-hot columns, 0 for a knob that is not there.

    A list of numbers is taken for a split: `tile.N` is what its factors from the N-th innermost
    one on cover, and `tiles.N` what those of all splits cover together, for caches and registers
    hold products that a tree of single factors does not see. The workload's shapes and attributes
    are columns too, so that one model can learn from several tasks.
    """
    columns: dict[str, int] = {}
    workload = _workload_leaves(task)
    rows = []
    for config in configs:
        row = {f"alternative={config.strategy}": 1.0}
        for knob, value in config.values.items():
            row.update(_leaves(f"knob.{knob}", value))
            for level, tile in enumerate(_tiles(value), 1):
                row[f"knob.{knob}.tile.{level}"] = tile
                row[f"tiles.{level}"] = row.get(f"tiles.{level}", 0.0) + tile
        for name in row:
            columns.setdefault(name, len(columns))
        rows.append(row)
    matrix = np.zeros((len(rows), len(columns) + len(workload)), np.float32)
    for place, row in enumerate(rows):
        matrix[place, [columns[name] for name in row]] = list(row.values())
    matrix[:, len(columns) :] = [number for _, number in workload]
    return Features((*columns, *(name for name, _ in workload)), matrix)


@lru_cache(maxsize=256)
def _workload_leaves(task: Task) -> Leaves:
    workload = task.workload
    shapes = [spec.shape for spec in workload.inputs]
    return (
        *_walk("workload.inputs", shapes),
        *_walk("workload.attributes", workload.attributes),
        *_walk("workload.epilogue", [op.operator for op in workload.epilogue]),
    )


@lru_cache(maxsize=1 << 16)
def _leaves(name: str, value: Any) -> Leaves:
    return tuple(_walk(name, value))


@lru_cache(maxsize=1 << 16)
def _tiles(value: Any) -> tuple[float, ...]:
    """log2 of a split's products from the innermost factor out; the whole loop is left out."""
    if not isinstance(value, tuple) or not all(
        type(factor) is int and factor > 0 for factor in value
    ):
        return ()
    products = []
    total = 0.0
    for factor in reversed(value[1:]):
        total += math.log2(factor)
        products.append(total)
    return tuple(products)


def _walk(name: str, value: Any) -> list[tuple[str, float]]:
    if isinstance(value, int | float):  # a bool is its own number, 0 or 1
        return [(name, math.copysign(math.log2(1 + abs(value)), value))]
    if isinstance(value, Mapping):
        return [leaf for key, part in value.items() for leaf in _walk(f"{name}.{key}", part)]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [leaf for place, part in enumerate(value) for leaf in _walk(f"{name}.{place}", part)]
    return [(f"{name}={value}", 1.0)]
