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
    """Trees one after the other, as arrays over all their nodes.

    roots   first node of each tree
    column  that a node compares; of a leaf 0
    limit   what it compares with; of a leaf what it adds
    child   of shape (nodes, 2): where a row goes whose number is not less, and where one whose is;
            of a leaf its own number
    """

    roots: NDArray[np.int64]
    column: NDArray[np.int64]
    limit: Floats
    child: NDArray[np.int64]
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
        roots = np.cumsum([0, *(len(column) for column, *_ in parts)])[:-1]
        return cls(
            roots,
            np.concatenate([column for column, *_ in parts]),
            np.concatenate([limit for _, limit, _ in parts]),
            np.concatenate([root + child for root, (*_, child) in zip(roots, parts, strict=True)]),
            max(_depth(child) for *_, child in parts),
            _base(base),
        )

    def sums(self, rows: Floats) -> Floats:
        """One number a row of shape (rows, columns)."""
        nodes = np.tile(self.roots, (len(rows), 1))
        first = np.arange(len(rows))[:, np.newaxis] * rows.shape[1]
        for _ in range(self.depth):  # `take` from flat arrays takes a third of indexing's time
            is_less = rows.take(first + self.column.take(nodes)) < self.limit.take(nodes)
            nodes = self.child.take(2 * nodes + is_less)
        total: Floats = self.limit.take(nodes).sum(axis=1, dtype=np.float32)
        return total + np.float32(self.base)


def _tree(tree: Any, columns: int) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64]]:
    """Column, limit and children of each node; a leaf leads to itself."""
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
    return column, limit.astype(np.float32), np.stack([right, left], axis=1)


def _depth(children: NDArray[np.int64]) -> int:
    """Steps from the root to the farthest leaf."""
    depth = [0] * len(children)
    for node, both in enumerate(children.tolist()):
        for child in {*both} - {node}:
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
