from __future__ import annotations

import json
import random
from dataclasses import replace

import numpy as np
import pytest

from tilewright import Component, hookimpl
from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright.space.config_space import ConfigSpace
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.revisions import Revisions
from tilewright_search.models.held_out import FeatureTable, TaskTrials
from tilewright_search.models.signature import FeatureSignature
from tilewright_testing.support.landscape import Landscape
from tilewright_testing.tuner import context_for


def _made(host, name):
    return host.make("cost_model", name, {}, context_for(Landscape(), host))


def _trained(host, path, name="xgboost"):
    """A model of two landscapes, saved."""
    trials = []
    for size in (48, 64):
        other = Landscape(size)
        trials += other.measure_all(other.space.sample(random.Random(size), 200))
    FeatureTable(host, "knobs", TaskTrials.group(trials, 256)).save(_made(host, name), path)


@pytest.mark.parametrize("tuner", ["xgb", "evolutionary"])
@pytest.mark.parametrize("model", ["xgboost", "ridge"])
def test_a_pretrained_model_makes_the_first_batch_better(host, tmp_path, tuner, model):
    path = tmp_path / "model.json"
    _trained(host, path, model)
    landscape = Landscape(96)

    def typical(options):
        configs = host.make("tuner", tuner, options, context_for(landscape, host)).propose(16)
        return sum((landscape.true_seconds(config) or 3e-3) for config in configs)

    informed = {"pretrained": str(path), "cost_model": model}
    assert typical(informed) < typical({}) / 1.1


def test_a_model_that_the_user_names_comes_before_starts(host, tmp_path):
    _trained(host, path := tmp_path / "model.json")
    landscape = Landscape(96)
    context, options = context_for(landscape, host), {"pretrained": str(path)}
    starts = landscape.space.sample(random.Random(3), 12)
    led = host.make("tuner", "xgb", options, replace(context, starts=starts)).propose(16)
    assert led == host.make("tuner", "xgb", options, context).propose(16)


def _strange():
    knobs = Knobs("other")
    knobs.define_knob("strange", range(40))
    return knobs.alternative()


def test_a_model_of_other_alternatives_is_not_asked(host, tmp_path, caplog):
    path = tmp_path / "model.json"
    _trained(host, path)
    context = context_for(Landscape(), host, space=ConfigSpace([_strange()]))
    assert len(host.make("tuner", "xgb", {"pretrained": str(path)}, context).propose(4)) == 4
    assert "the cost model was fitted on no alternative of" in caplog.text


@pytest.mark.parametrize("model", ["xgboost", "ridge"])
def test_a_model_that_has_not_seen_one_of_the_alternatives_ranks_the_others(host, tmp_path, model):
    path = tmp_path / "model.json"
    _trained(host, path, model)
    space = ConfigSpace([*Landscape(96).space.alternatives, _strange()])
    context = context_for(Landscape(96), host, space=space)
    options = {"pretrained": str(path), "cost_model": model}
    assert len(host.make("tuner", "xgb", options, context).propose(16)) == 16


def test_a_model_knows_alternatives_by_the_names_of_before(host, tmp_path, monkeypatch, caplog):
    path = tmp_path / "model.json"
    _trained(host, path, "ridge")
    space, options = Landscape(96).space, {"pretrained": str(path), "cost_model": "ridge"}
    renamed = [replace(one, name=f"peak.{one.name}") for one in space.alternatives]
    context = context_for(Landscape(96), host, space=ConfigSpace(renamed))
    for _ in range(2):  # a run goes on without it, and says so once an operator
        assert len(host.make("tuner", "xgb", options, context).propose(16)) == 16
    assert caplog.text.count("the cost model was fitted on no alternative of") == 1
    revisions = Revisions({"peak.hill": 1}, {"hill": "peak.hill"})
    monkeypatch.setattr(PluginHost, "revisions", revisions)
    assert len(host.make("tuner", "xgb", options, context).propose(16)) == 16


@pytest.mark.parametrize("penalty", [0, -1, float("nan")])
def test_a_penalty_without_which_no_ridge_is_solved_is_refused(host, penalty):
    with pytest.raises(UsageError, match="penalty"):
        host.check("cost_model", Choice("ridge", {"penalty": penalty}))


def test_a_pretrained_model_that_is_no_file_is_refused_before_a_tuner_is_made(host):
    said = "tuner 'xgb': pretrained: Path does not point to a file, got 'nofile.json'"
    with pytest.raises(UsageError, match=said):
        host.check("tuner", Choice("xgb", {"pretrained": "nofile.json"}))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no JSON"),
        ("nonsense", "no JSON"),
        ('{"learner": {}}', "no member 'attributes'"),
        ('{"learner": {"attributes": {}}}', "nothing in it says what its features are"),
        ('{"learner": 3}', "not subscriptable"),
        (" " * (1 << 25) + "{}", "more than 33554432 bytes"),
    ],
    ids=["empty", "text", "no attributes", "no names", "a number", "large"],
)
def test_what_is_no_model_of_trees_is_refused(host, tmp_path, text, told):
    path = tmp_path / "model.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=rf"model.json: no xgboost model: .*{told}"):
        _made(host, "xgboost").load_model(path)


def test_a_loaded_model_is_not_saved_again(host, tmp_path):
    _trained(host, path := tmp_path / "model.json")
    path.write_text(path.read_text() + "\n")
    model = _made(host, "xgboost")
    signature = model.load_model(path)
    with pytest.raises(UsageError, match="nothing to save but what was loaded"):
        model.save_model(tmp_path / "again.json", signature)


@pytest.mark.parametrize("list_of", ["left_children", "right_children", "split_indices"])
@pytest.mark.parametrize("number", [10**6, -5, 0])
def test_trees_that_lead_astray_are_refused(host, tmp_path, list_of, number):
    """xgboost itself reads and follows them."""
    _trained(host, path := tmp_path / "model.json")
    data = json.loads(path.read_text())
    tree = data["learner"]["gradient_booster"]["model"]["trees"][0]
    if list_of == "split_indices":
        number = number or len(json.loads(data["learner"]["attributes"]["tilewright"])["names"])
    tree[list_of][0] = number
    path.write_text(json.dumps(data))
    with pytest.raises(UsageError, match=r"model.json: no xgboost model: a tree"):
        _made(host, "xgboost").load_model(path)


def test_loop_features_have_to_be_the_same_ones():
    saved = FeatureSignature("loops", ("a", "b"))
    assert saved.knows(("b", "a"), "file")
    for names in (("a",), ("a", "b", "c")):
        with pytest.raises(UsageError, match="is not in both"):
            saved.knows(names, "file")


def test_knob_features_may_lack_columns_of_either_side():
    saved = FeatureSignature("knobs", ("alternative=a", "alternative=b", "size"))
    assert saved.knows(("alternative=b", "alternative=c", "width"), "file")
    assert not saved.knows(("alternative=c", "size"), "file")


class FitsOnly:
    """A cost model with the two methods that it must have."""

    def fit(self, features, scores, groups):
        self.mean = scores.mean()

    def predict(self, features):
        return np.full(len(features), self.mean, np.float32)


class FitsOnlyPlugin:
    @hookimpl
    def tilewright_cost_models(self):
        return [Component("fits-only", "no files", load=lambda: lambda *_: FitsOnly())]


def test_a_cost_model_without_save_and_load_guides_a_search_and_says_so_when_asked_to_save(
    tmp_path,
):
    host = PluginHost.load(extra=[FitsOnlyPlugin()])
    context = context_for(Landscape(), host)
    tuner = host.make("tuner", "xgb", {"cost_model": "fits-only"}, context)
    tuner.observe(Landscape().measure_all(tuner.propose(16)))
    assert len(tuner.propose(16)) == 16
    path = tmp_path / "model.json"
    _trained(host, path)
    with pytest.raises(UsageError, match="FitsOnly cannot be kept in a file"):
        host.make("tuner", "xgb", {"cost_model": "fits-only", "pretrained": str(path)}, context)
