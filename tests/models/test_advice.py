"""What the model chooses where nothing was measured, and when it says nothing."""

from __future__ import annotations

import json
import random

import pytest
from model_files import machine, member, stump
from toy_tasks import entry

import tilewright
from tilewright import PluginHost, hookimpl
from tilewright.errors import UsageError
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright_models import installed
from tilewright_models.advisor import advise
from tilewright_models.cost_model import CostModel
from tilewright_pipeline.dispatch import unmeasured
from tilewright_pipeline.dispatch.unmeasured import Advice, UnmeasuredTask

DEVICE = Device("toy", {"model": "toy processor"})
TASK = entry(48).task


@pytest.fixture
def advice(model, packed, host):
    """A function that asks a changed model for a task."""

    def ask(task=TASK, device=DEVICE, **change):
        space = host.space(task)
        asked = UnmeasuredTask(task, space, host.fallback_config(task, space), device)
        read = CostModel.read(packed({**model, **change}), "file")
        return advise(asked, host, read)

    return ask


def test_what_was_fast_for_a_similar_workload_is_chosen(advice):
    found = advice().choice
    assert (found.config["unroll"], found.config["width"]) == (8, 31)
    assert found.seconds is None
    assert "3.49 times as fast as the fallback, say 5 of 5" in found.source
    assert "toyadd(64, 1)" in found.source
    assert "9 trials of 1 workloads" in found.source


def test_nothing_is_advised_for_what_the_model_does_not_know(advice, model):
    for target in ("toy:threads=2", "toyed:threads=1"):
        assert advice(machines=[machine(target=target)]) is None
    other = model["examples"][0]["workload"] | {"operator": "toymul"}
    assert advice(examples=[{**model["examples"][0], "workload": other}]) is None


@pytest.mark.parametrize(
    "change", [{"model": "another"}, {"l1_bytes": 1}, {"l2_bytes": 1}, {"target": "toy:isa=x"}]
)
def test_what_was_fast_on_other_machines_is_advised_for_one_that_it_does_not_know(advice, change):
    found = advice(machines=[machine(**change)])
    assert found.choice.config == advice().choice.config
    assert found.choice.source.endswith("9 trials of 1 workloads, none of this machine and target")
    assert found.told.endswith("9 trials of 1 workloads, none of this machine and target")
    assert "none of this machine and target" not in advice().told + advice().choice.source


def test_of_several_other_machines_all_are_looked_at_in_turns(advice, model):
    (known,) = model["examples"]
    fast = [ConfigEntity("toy.loop", {"unroll": unroll, "width": 31}) for unroll in (8, 4, 2)]
    examples = [
        {**known, "machine": place, "configs": [config.to_json()]}
        for place, config in enumerate(fast)
    ]
    others = [machine("first"), machine("second"), machine("third", target="toy:threads=2")]
    found = advice(machines=others, examples=examples)
    assert [start["unroll"] for start in found.starts] == [8, 4]
    assert [
        start["unroll"]
        for start in advice(machines=[*others[:2], machine()], examples=examples).starts
    ] == [2]


@pytest.mark.parametrize("value", ["x", [2, 4], {"a": 1}, None, -3, 1e30], ids=str)
def test_values_of_another_kind_are_no_points_or_near_ones(advice, model, value):
    (example,) = model["examples"]
    config = {"strategy": "toy.loop", "values": {"unroll": value, "width": 31}}
    found = advice(examples=[{**example, "configs": [config, *example["configs"]]}])
    assert found.choice.config["unroll"] in range(1, 65)


def test_no_config_is_advised_where_members_disagree_or_little_is_gained(advice):
    fast, slow = member(stump(2.0, -1.5, -0.25)), member(stump(2.0, -0.25, -1.5))
    assert advice(members=[fast] * 4 + [slow]).choice is not None
    few = advice(members=[fast] * 3 + [slow] * 2)
    little = advice(members=[member(stump(2.0, -0.02, -0.01))] * 5)
    assert few.choice is little.choice is None
    assert "is taken to be 1.28 times as fast, by 3 of 5 to be faster" in few.told
    assert "is taken to be 1.01 times as fast, by 5 of 5 to be faster" in little.told


def test_a_config_that_is_no_point_of_the_space_is_moved_to_the_nearest(advice, model):
    far = {"strategy": "toy.loop", "values": {"unroll": 7, "width": 1000}}
    example = {**model["examples"][0], "configs": [far]}
    found = advice(examples=[example])
    assert found.choice.config["unroll"] == 8
    assert found.starts == (found.choice.config,)


def test_what_was_fast_may_be_of_a_strategy_that_is_not_there(advice, model):
    gone = {"strategy": "toy.gone", "values": {"unroll": 7}}
    found = advice(examples=[{**model["examples"][0], "configs": [gone]}])
    assert (found.choice, found.starts) == (None, ())
    assert found.prior is not None
    assert found.told == f"model: its scores; {model['told']}"


def test_nothing_is_said_where_the_model_knows_no_alternative_of_the_space(advice):
    assert advice(columns=["knob.unroll", "alternative=toy.other"]) is None


def test_starts_are_what_was_fast_for_similar_workloads(advice, model):
    configs = [ConfigEntity("toy.loop", {"unroll": unroll, "width": 31}) for unroll in (1, 8)]
    example = {**model["examples"][0], "configs": [config.to_json() for config in configs]}
    found = advice(examples=[example])
    assert found.starts == tuple(configs)
    assert found.told.startswith(
        "model: its scores, and 2 configs that were fast for similar workloads; "
    )
    assert found.told.endswith(model["told"])


def test_the_prior_is_what_the_mean_member_says_of_any_config(advice):
    configs = [ConfigEntity("toy.loop", {"unroll": unroll, "width": 4}) for unroll in (1, 8)]
    members = [member(stump(2.0, -1.5, -0.25)), member(stump(2.0, -0.5, -0.75))]
    assert list(advice(members=members).prior(configs)) == [-1.0, -0.5]


@pytest.mark.parametrize("given", [[1.0], [0.0, float("nan")], [0.0, 1e39], ["a", "b"], [], None])
def test_a_prior_that_does_not_rate_every_config_is_refused_by_its_hook(toy, given):
    class Hopeful:
        @hookimpl
        def tilewright_advise(self, asked):
            return Advice(None, (), "hope", lambda _: given)

    host = PluginHost.load([toy], [Hopeful()])
    space = host.space(TASK)
    prior = unmeasured.advice(TASK, space, host, DEVICE).prior
    expected = (
        "tilewright_advise: the prior gave .*, expected a finite number for each of 2 configs"
    )
    with pytest.raises(UsageError, match=expected):
        prior(space.sample(random.Random(0), 2))


def test_of_equal_configs_the_most_similar_workload_is_named(advice, model):
    (own, *_) = model["examples"]
    other = {**own, "workload": entry(4800).task.workload.to_json()}
    told = {advice(examples=each).choice.source for each in ([own], [own, other], [other, own])}
    assert len(told) == 1


@pytest.fixture
def packaged(model, packed, monkeypatch):
    """The toy's model in place of the one that is installed."""
    read = CostModel.read(packed({**model, "machines": [machine("toy0")]}), "file")
    monkeypatch.setattr(installed, "packaged_model", lambda: read)


def test_explain_says_what_the_choice_rests_on(packaged, call):
    code, out, _ = call("explain", "toyadd(48)", "--target", "toynative", "--json")
    assert code == 0
    answer = json.loads(out)["answer"]
    assert answer["source"].startswith("model: 3.49 times as fast as the fallback, say 5 of 5")
    assert answer["config"]["values"] == {"unroll": 8, "width": 31}
    assert json.loads(out)["first_proposals"].startswith(
        "model: its scores, and 1 configs that were fast"
    )


def test_effort_0_gives_the_advice_and_measures_nothing(packaged, toy, tmp_path):
    host = tilewright.PluginHost.load([toy])
    options = {"target": "toynative", "records": tmp_path / "r.jsonl", "host": host}
    found = tilewright.tune("toyadd(48)", effort=0, runner="toy", builder="toy", **options)
    assert (found.seconds, found.summary["trials"]) == (None, 0)
    assert found.config["unroll"] == 8


def test_a_record_comes_before_the_advice(packaged, toy, tmp_path):
    host = tilewright.PluginHost.load([toy])
    options = {"target": "toynative", "records": tmp_path / "r.jsonl", "host": host}
    tuned = tilewright.tune("toyadd(48)", budget=3, runner="toy", builder="toy", **options)
    (told,) = tilewright.explain("toyadd(48)", **options)
    assert told.answer.config == tuned.config
    assert told.answer.seconds == tuned.seconds


def test_run_json_says_what_the_first_proposals_rest_on(packaged, pipeline_file):
    def proposals(tuner):
        path = pipeline_file(tune=f"tuner: {tuner}, budget: 8", sizes="[48]")
        result = tilewright.Pipeline.load(path, target="toynative").run(out=path.parent / tuner)
        return result.report.get("first_proposals")

    (told,) = proposals("xgb").values()
    assert told.startswith("model: its scores, and 1 configs that were fast for similar workloads")
    assert proposals("random") is None
