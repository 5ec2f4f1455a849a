from __future__ import annotations

import logging
import sys

from tilewright.cli.group import run
from tilewright.host import PluginHost
from tilewright.testing.landscape import Landscape
from tilewright.testing.tuner import context_for


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


def test_doctor_says_what_stands_in_for_xgboost(monkeypatch, capsys):
    monkeypatch.setenv("TILEWRIGHT_BLOCK_PLUGINS", "cuda,x86")  # whose peaks take seconds
    monkeypatch.setitem(sys.modules, "xgboost", None)
    run(["doctor"])
    said = "xgboost is not installed, a ridge regression stands in: pip install 'tilewright[xgb]'"
    assert f"note cost model xgboost: {said}" in capsys.readouterr().out.splitlines()
    monkeypatch.undo()
    monkeypatch.setenv("TILEWRIGHT_BLOCK_PLUGINS", "cuda,x86")
    run(["doctor"])
    assert "xgboost" not in capsys.readouterr().out
