"""Trees of xgboost's JSON: the same sums as xgboost's own, and nothing that leads astray."""

from __future__ import annotations

import json

import numpy as np
import pytest
from model_files import member, stump

from tilewright_search.models.trees import MOST_NODES, MOST_TREES, Trees


def test_it_predicts_as_xgboost_does():
    import xgboost

    generator = np.random.default_rng(3)
    rows = generator.normal(size=(301, 7)).astype(np.float32)
    data = xgboost.DMatrix(rows, label=rows[:, 2] * rows[:, 5] - rows[:, 0])
    booster = xgboost.train({"max_depth": 5, "eta": 0.3, "nthread": 1}, data, num_boost_round=11)
    own = Trees.read(json.loads(booster.save_raw("json")), columns=7)
    np.testing.assert_allclose(own.sums(rows), booster.inplace_predict(rows), atol=1e-5)


def test_trees_of_different_sizes_add_up():
    leaf = {
        "left_children": [-1],
        "right_children": [-1],
        "split_indices": [0],
        "split_conditions": [0.5],
    }
    trees = Trees.read(member(leaf, stump(2.0, -1.0, 3.0), base="1.25"), columns=1)
    rows = np.array([[1.0], [2.0], [7.0]], np.float32)
    assert trees.sums(rows).tolist() == [0.75, 4.75, 4.75]


def changed(**lists):
    return member({**stump(2.0, -1.0, 3.0), **lists})


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {"learner": "x"},
        member(),
        member(*[stump(1.0, 0.0, 0.0)] * (MOST_TREES + 1)),
        member(stump(1.0, 0.0, 0.0), base="nan"),
        member(stump(1.0, 0.0, 0.0), base=None),
        changed(left_children=[0, -1, -1]),  # to itself, for ever
        changed(left_children=[3, -1, -1]),
        changed(right_children=[-2, -1, -1]),
        changed(right_children=[-1, -1, -1]),
        changed(split_indices=[1, 0, 0]),
        changed(split_indices=[-1, 0, 0]),
        changed(split_indices=[0, 0]),
        changed(split_conditions=[1e300, 0, 0]),
        changed(split_conditions=[float("nan"), 0, 0]),
        changed(split_conditions=["x", 0, 0]),
        changed(left_children=[[1], [-1], [-1]]),
        changed(**{name: [-1] * (MOST_NODES + 1) for name in stump(0, 0, 0)}),
        changed(left_children=[10**30, -1, -1]),
    ],
    ids=lambda data: str(data)[:30],
)
def test_what_cannot_be_evaluated_is_refused(data):
    with pytest.raises((ValueError, OverflowError, TypeError)):
        Trees.read(data, columns=1)
