from __future__ import annotations

import math

import numpy as np
import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.workload import TensorSpec, Workload
from tilewright_search.models.featurizer import Featurizer
from tilewright_search.models.knob_features import knob_features

TASK = Task(Workload("thing", (TensorSpec((3, 5)),), {"stride": 2}), Target("imaginary"))


def _columns(features, place):
    return dict(zip(features.names, features.rows[place].tolist(), strict=True))


def test_numbers_become_logarithms_and_words_become_columns_of_their_own():
    configs = [
        ConfigEntity("a/x", {"tile": (7, 1), "place": "outer", "flag": True, "shift": -3}),
        ConfigEntity("a/y", {"tile": (1, 31), "place": "inner", "flag": False, "shift": 0}),
    ]
    features = knob_features(TASK, configs)
    first, second = _columns(features, 0), _columns(features, 1)
    assert first["knob.tile.0"] == 3
    assert second["knob.tile.1"] == 5
    assert first["knob.shift"] == -2
    assert (first["knob.place=outer"], second["knob.place=outer"]) == (1, 0)
    assert (first["alternative=a/y"], second["alternative=a/y"]) == (0, 1)
    assert (first["knob.flag"], second["knob.flag"]) == (1, 0)


def test_the_workload_is_told_so_that_tasks_can_learn_from_each_other():
    row = _columns(knob_features(TASK, [ConfigEntity("a", {"n": 1})]), 0)
    assert row["workload.inputs.0.1"] == pytest.approx(math.log2(6))
    assert row["workload.attributes.stride"] == pytest.approx(math.log2(3))


def test_no_configs_give_no_rows():
    assert knob_features(TASK, []).rows.shape[0] == 0


def test_columns_stay_in_place_when_later_configs_bring_new_ones():
    featurizer = Featurizer(PluginHost.load(), "knobs")
    before = featurizer.rows(TASK, [ConfigEntity("a", {"x": 1, "y": 3})])
    featurizer.rows(TASK, [ConfigEntity("b", {"z": "word"})])
    after = featurizer.rows(TASK, [ConfigEntity("a", {"y": 3, "x": 1})])
    assert after.shape[1] > before.shape[1]
    assert np.array_equal(after[:, : before.shape[1]], before)
    assert not after[:, before.shape[1] :].any()


def test_a_config_has_the_same_row_whatever_was_looked_at_before(monkeypatch):
    from tilewright_search.models import knob_features as module

    configs = [
        ConfigEntity("a", {"x": (2, 3, 4), "y": "word"}),
        ConfigEntity("a", {"y": "other", "x": (2, 3, 4), "z": None, "u": (5, 7)}),
        ConfigEntity("b", {"order": (4, 3, 2, 1, 0)}),
        ConfigEntity("b", {}),
    ]
    alone = [_columns(knob_features(TASK, [config]), 0) for config in configs]
    assert alone[1]["tiles.1"] == pytest.approx(math.log2(4 * 7))
    for remembered in (1 << 16, 2):
        monkeypatch.setattr(module, "_REMEMBERED", remembered)
        featurizer = Featurizer(PluginHost.load(), "knobs")
        for config in (*configs, *reversed(configs)):
            rows = featurizer.rows(TASK, [*configs, config])
            for row, expected in zip(rows, [*alone, alone[configs.index(config)]], strict=True):
                told = dict(zip(featurizer.names, row.tolist(), strict=True))
                assert {name: told.get(name) for name in expected} == expected
                assert not any(told[name] for name in told.keys() - expected.keys())


PLUGIN = """
from tilewright import hookimpl

class Rows:
    def __init__(self, names, rows):
        self.names, self.rows = names, rows

@hookimpl(optionalhook=True)
def tilewright_featurize(task, configs, host):
    import numpy as np
    if task.workload.operator != "thing":
        return None
    return Rows(("mine", "odd"), np.array([[len(c.values), np.nan] for c in configs], np.float32))
"""


def test_a_plugin_gives_features_of_its_own_and_odd_numbers_become_zero(tmp_path):
    path = tmp_path / "features_plugin.py"
    path.write_text(PLUGIN)
    featurizer = Featurizer(PluginHost.load([path]), "loops")
    rows = featurizer.rows(TASK, [ConfigEntity("a", {"x": 1, "y": 2}), ConfigEntity("a", {})])
    assert rows.tolist() == [[2, 0], [0, 0]]
    other = Task(Workload("else", (TensorSpec((3,)),)), Target("imaginary"))
    assert featurizer.rows(other, [ConfigEntity("a", {"x": 1})]).shape[1] > 2
