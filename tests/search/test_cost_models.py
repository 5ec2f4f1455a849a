from __future__ import annotations

import logging
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.plugins.loading.distributions import installer
from tilewright_cli.terminal.group import run
from tilewright_search.models.experience import Experience
from tilewright_search.models.features import Features
from tilewright_search.models.featurizer import Featurizer
from tilewright_testing.support.landscape import Landscape
from tilewright_testing.tuner import context_for


def test_d36_without_xgboost_a_ridge_regression_stands_in_and_says_so_once(monkeypatch, caplog):
    from tilewright_search.models import xgboost_trees
    from tilewright_search.models.ridge import RidgeModel

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


def test_doctor_says_what_stands_in_for_xgboost(monkeypatch, capsys):
    monkeypatch.setenv("TILEWRIGHT_BLOCK_PLUGINS", "cuda,x86")  # whose peaks take seconds
    monkeypatch.setitem(sys.modules, "xgboost", None)
    run(["doctor"])
    said = "xgboost is not installed, a ridge regression stands in: "
    said += f"{installer()} install 'tilewright[xgb]'"
    assert f"note cost model xgboost: {said}" in capsys.readouterr().out.splitlines()
    monkeypatch.undo()
    monkeypatch.setenv("TILEWRIGHT_BLOCK_PLUGINS", "cuda,x86")
    run(["doctor"])
    assert "xgboost" not in capsys.readouterr().out


MODELS = ("xgboost", "ridge")


@pytest.fixture
def made():
    """made(name): a fresh cost model."""
    host = PluginHost.load()
    return lambda name: host.make("cost_model", name, {}, context_for(Landscape(), host))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("count", [1, 2, 300])
def test_d36_constant_labels_and_a_single_sample_give_finite_scores(made, name, count):
    model, rows = made(name), np.random.default_rng(1).random((count, 9)).astype(np.float32)
    model.fit(rows, np.full(count, 0.5, np.float32), np.zeros(count, np.int64))
    assert np.isfinite(model.predict(rows)).all()


@pytest.mark.parametrize("name", MODELS)
def test_d36_ten_thousand_rows_of_128_features_are_fitted_within_two_seconds(made, name, soon):
    model, rows = made(name), np.random.default_rng(1).random((10_000, 128)).astype(np.float32)
    scores = (1 + rows[:, 3] - rows[:, 70]) / 2
    with soon(2):
        model.fit(rows, scores, np.zeros(len(rows), np.int64))
    predicted, known = (np.argsort(np.argsort(x[:500])) for x in (model.predict(rows), scores))
    assert np.corrcoef(predicted, known)[0, 1] > 0.9


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_d36_a_feature_that_is_no_number_counts_as_0_and_is_told_once(caplog, monkeypatch, bad):
    landscape = Landscape()
    configs = [*landscape.space.points()][:4]
    rows = np.array([[1.0, 2.0], [bad, 3.0], [4.0, bad], [5.0, 6.0]])
    told = Features((f"a of {bad}", "b"), rows)
    host = SimpleNamespace(decide=lambda *_, **__: told)
    with caplog.at_level(logging.WARNING, logger="tilewright"):
        for _ in range(3):
            found = Featurizer(host, "loops").rows(landscape.task, configs)
    np.testing.assert_array_equal(found, [[1, 2], [0, 3], [4, 0], [5, 6]])
    said = [r.getMessage() for r in caplog.records if f"'a of {bad}'" in r.getMessage()]
    assert len(said) == 1


@pytest.mark.parametrize("count", [5_000, pytest.param(100_000, marks=pytest.mark.full)])
def test_d36_of_a_hundred_thousand_trials_a_model_is_fitted_on_those_that_tell(count):
    """So that no fit takes longer than a batch, however long the history."""
    landscape, host = Landscape(), PluginHost.load()
    (trial,) = landscape.measure_all([next(landscape.space.points())])
    experience = Experience(host, "knobs")
    experience.add([trial])
    known = experience._known[landscape.task.key]
    config = trial.input.config
    for number in range(count):
        values = {**config.values, "trial": number}
        known.seconds[type(config)(config.strategy, values)] = 1e-3 + number * 1e-9
    features, scores, groups = experience.rows(landscape.task)
    assert len(features) == len(scores) == len(groups) <= 512
    assert scores.max() == 1.0


def test_boosted_trees_tell_fast_configs_further_apart_than_slow_ones(made):
    """The tail of bad configs is long; what matters is which of the fast ones is the fastest."""
    rows = np.repeat(np.eye(4, dtype=np.float32), 16, axis=0)
    scores = np.repeat(np.array([0.1, 0.4, 0.9, 1.0], np.float32), 16)
    model = made("xgboost")
    model.fit(rows, scores, np.zeros(len(rows), np.int64))
    slow, better, fast, fastest = model.predict(np.eye(4, dtype=np.float32))
    assert 0 < better - slow < fastest - fast
