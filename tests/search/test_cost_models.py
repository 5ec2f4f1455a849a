from __future__ import annotations

import logging
import sys

import numpy as np
import pytest

from tilewright.host import PluginHost
from tilewright.testing.landscape import Landscape
from tilewright.testing.tuner import context_for

MODELS = [("xgboost", {"loss": "reg"}), ("xgboost", {"loss": "rank"}), ("ridge", {})]


@pytest.fixture(params=MODELS, ids=lambda param: "-".join([param[0], *param[1].values()]))
def model(request):
    host = PluginHost.load()
    name, options = request.param
    return host.make("cost_model", name, options, context_for(Landscape(), host))


def _rows(count, columns=7, seed=0):
    return np.random.default_rng(seed).random((count, columns)).astype(np.float32)


def _truth(rows):
    return (0.6 * rows[:, 1] - 0.3 * rows[:, 4] + 0.3).astype(np.float32)


def test_finds_the_best_of_rows_it_never_saw(model):
    known, fresh = _rows(300), _rows(200, seed=1)
    model.fit(known, _truth(known), np.zeros(300, np.int64))
    assert _found(fresh, model.predict(fresh)) >= 14


@pytest.mark.parametrize("model", MODELS[1:], indirect=True, ids=["rank", "ridge"])
def test_scores_of_different_groups_are_not_compared(model):
    """Group 1 is slow throughout for a reason no feature tells; the order within groups must survive."""
    known, groups = _rows(400), np.repeat([0, 1], 200)
    scores = _truth(known) * np.where(groups == 0, 1.0, 0.2).astype(np.float32)
    model.fit(known, scores, groups)
    fresh = _rows(200, seed=1)
    assert _found(fresh, model.predict(fresh)) >= 12


@pytest.mark.parametrize("count", [1, 2, 40])
def test_constant_scores_are_no_trouble(model, count):
    model.fit(_rows(count), np.full(count, 0.5, np.float32), np.zeros(count, np.int64))
    predicted = model.predict(_rows(9))
    assert predicted.shape == (9,)
    assert np.isfinite(predicted).all()


def test_failures_only_are_no_trouble(model):
    model.fit(_rows(20), np.zeros(20, np.float32), np.repeat([3, 8], 10))
    assert np.isfinite(model.predict(_rows(5))).all()


def test_constant_features_are_no_trouble(model):
    model.fit(np.ones((30, 4), np.float32), _truth(_rows(30)), np.zeros(30, np.int64))
    assert np.isfinite(model.predict(np.full((3, 4), 7, np.float32))).all()


def test_equal_data_give_an_equal_model(model):
    known, fresh = _rows(200), _rows(50, seed=1)
    answers = []
    for _ in range(2):
        model.fit(known, _truth(known), np.zeros(200, np.int64))
        answers.append(model.predict(fresh))
    assert np.array_equal(*answers)


def test_without_xgboost_a_ridge_regression_stands_in_and_says_so_once(monkeypatch, caplog):
    from tilewright_search.cost_model import xgboost_trees
    from tilewright_search.cost_model.ridge import RidgeModel

    monkeypatch.setitem(sys.modules, "xgboost", None)
    xgboost_trees._say_that_xgboost_is_missing.cache_clear()
    host, landscape = PluginHost.load(), Landscape()
    with caplog.at_level(logging.WARNING, logger="tilewright"):
        for seed in range(3):
            context = context_for(landscape, host, seed=seed)
            assert isinstance(host.make("cost_model", "xgboost", {}, context), RidgeModel)
            tuner = host.make("tuner", "xgb", {}, context)
            tuner.observe(landscape.measure_all(tuner.propose(16)))
            assert len(tuner.propose(16)) == 16
    said = [record for record in caplog.records if "xgboost" in record.getMessage()]
    assert len(said) == 1
    assert "pip install" in said[0].getMessage()


def _found(rows, predicted):
    """How many of the best 20 of 200 rows are among the 20 predicted best; chance finds 2."""
    return len(set(np.argsort(-_truth(rows))[:20]) & set(np.argsort(-predicted)[:20]))
