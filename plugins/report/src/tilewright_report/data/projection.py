"""Configs in a plane: near each other where their knobs are alike."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tilewright.vocabulary.config import ConfigEntity

_COLUMNS = 400
_FEWEST = 4


def projection(
    configs: Sequence[ConfigEntity],
) -> tuple[list[tuple[float, float]], float] | None:
    """(places, share of the variance that they explain); None where nothing varies.

    The two main components of the knobs: numbers by their logarithm, all else as one column a
    value, each column of variance one.
    """
    columns: dict[str, int] = {}
    rows = []
    for config in configs:
        row = {}
        for name, value in _features(config):
            if name in columns or len(columns) < _COLUMNS:
                row[columns.setdefault(name, len(columns))] = value
        rows.append(row)
    table = np.zeros((len(rows), len(columns)))
    for at, row in enumerate(rows):
        for column, value in row.items():
            table[at, column] = value
    if len(rows) < _FEWEST:
        return None
    varied = table[:, table.std(axis=0) > 1e-12]
    if varied.shape[1] < 2:
        return None
    centred = (varied - varied.mean(axis=0)) / varied.std(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    places = left[:, :2] * sizes[:2]
    explained = float((sizes[:2] ** 2).sum() / (sizes**2).sum())
    return [(float(x), float(y)) for x, y in places], explained


def _features(config: ConfigEntity) -> list[tuple[str, float]]:
    found = [(f"strategy {config.strategy}", 1.0)]
    for name, value in config.values.items():
        parts = value if isinstance(value, tuple) else (value,)
        for place, part in enumerate(parts):
            if isinstance(part, int | float) and not isinstance(part, bool) and part >= 0:
                found.append((f"{name} {place}", math.log2(1 + part)))
            else:
                found.append((f"{name} {place} {part}", 1.0))
    return found
