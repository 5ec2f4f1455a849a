"""Boosted trees as xgboost writes them, read with bounds and evaluated by numpy alone.

A model file is data of others: no reader of a native library sees it, every number is checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright_search.models.features import Floats

MOST_TREES, MOST_NODES = 512, 256
"""Of a model, and of a tree."""


@dataclass(frozen=True)
class Trees:
    """Trees side by side: arrays of shape (trees, nodes), padded with leaves.

    column  that a node compares; of a leaf 0
    limit   a row goes left where its number is less; of a leaf what it adds
    left, right  numbers of the nodes below; of a leaf its own
    """

    column: NDArray[np.int32]
    limit: Floats
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    depth: int
    base: float

    @classmethod
    def read(cls, data: Any, columns: int) -> Trees:
        """The trees of a `learner` of xgboost's JSON; their sum is the prediction.

        Raises ValueError for anything that cannot be evaluated on rows of so many columns.
        """
        learner = _member(data, "learner", Mapping)
        booster = _member(learner, "gradient_booster", Mapping)
        trees = _member(_member(booster, "model", Mapping), "trees", Sequence)
        if not 0 < len(trees) <= MOST_TREES:
            raise ValueError(f"{len(trees)} trees, expected 1 to {MOST_TREES}")
        base = _member(learner, "learner_model_param", Mapping).get("base_score")
        parts = [_tree(tree, columns) for tree in trees]
        width = max(len(column) for column, *_ in parts)
        size = (len(parts), width)
        made = cls(
            np.zeros(size, np.int32),
            np.zeros(size, np.float32),
            np.tile(np.arange(width, dtype=np.int32), (len(parts), 1)),
            np.tile(np.arange(width, dtype=np.int32), (len(parts), 1)),
            max(_depth(left, right) for _, _, left, right in parts),
            _base(base),
        )
        for place, part in enumerate(parts):
            for table, own in zip(
                (made.column, made.limit, made.left, made.right), part, strict=True
            ):
                table[place, : len(own)] = own
        return made

    def sums(self, rows: Floats) -> Floats:
        """One number a row of shape (rows, columns)."""
        trees = np.arange(len(self.column))[np.newaxis, :]
        node = np.zeros((len(rows), len(self.column)), np.int32)
        each = np.arange(len(rows))[:, np.newaxis]
        for _ in range(self.depth):
            goes_left = rows[each, self.column[trees, node]] < self.limit[trees, node]
            node = np.where(goes_left, self.left[trees, node], self.right[trees, node])
        total: Floats = self.limit[trees, node].sum(axis=1, dtype=np.float32)
        return total + np.float32(self.base)


def _tree(tree: Any, columns: int) -> tuple[NDArray[Any], ...]:
    """Column, limit, left and right of each node; a leaf leads to itself."""
    left = np.array(_member(tree, "left_children", Sequence), np.int64)
    right = np.array(_member(tree, "right_children", Sequence), np.int64)
    column = np.array(_member(tree, "split_indices", Sequence), np.int64)
    limit = np.array(_member(tree, "split_conditions", Sequence), np.float64)
    count = len(left)
    shapes = {left.shape, right.shape, column.shape, limit.shape}
    if shapes != {(count,)} or not 0 < count <= MOST_NODES:
        raise ValueError(f"a tree whose lists are not all of one length, 1 to {MOST_NODES}")
    own, is_leaf = np.arange(count), left == -1
    inner = ~is_leaf
    # Children behind their parents: so a walk ends, whatever else the file says.
    for child in (left, right):
        if (child[inner] <= own[inner]).any() or (child[inner] >= count).any():
            raise ValueError("a tree whose nodes lead nowhere, or back")
    if (column[inner] < 0).any() or (column[inner] >= columns).any():
        raise ValueError(f"a tree that asks for a column beyond {columns}")
    if not np.isfinite(limit).all() or (np.abs(limit) > np.finfo(np.float32).max).any():
        raise ValueError("a tree with a number that is not finite")
    column[is_leaf] = 0
    left[is_leaf] = right[is_leaf] = own[is_leaf]
    return column, limit, left, right


def _depth(left: NDArray[Any], right: NDArray[Any]) -> int:
    """Steps from the root to the farthest leaf."""
    depth = [0] * len(left)
    for node in range(len(left)):
        for child in {int(left[node]), int(right[node])} - {node}:
            depth[child] = max(depth[child], depth[node] + 1)
    return max(depth)


def _member(data: Any, name: str, kind: type) -> Any:
    found = data.get(name) if isinstance(data, Mapping) else None
    if not isinstance(found, kind) or isinstance(found, str):
        raise ValueError(f"no {name}")  # noqa: TRY004  one kind of error for any content
    return found


def _base(text: Any) -> float:
    """The base score, which newer versions of xgboost put into brackets."""
    base = float(str(text).strip("[]"))
    if not np.isfinite(base):
        raise ValueError("a base score that is not finite")
    return base
