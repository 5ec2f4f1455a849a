"""A strategy that was given another name answers to the one of before, wherever that was written."""

from __future__ import annotations

import pytest

from tilewright import Pipeline
from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.strategies.strategy import strategy_of, variant_of
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright_pipeline.dispatch.contexts import ApplyConfig, asked_first
from tilewright_records.store.store import JsonlRecordStore

WALK = """
from tilewright import hookimpl, strategy
from tilewright.space.knobs import Knobs

@strategy("{name}", operator="toyadd", target="toy", aliases={aliases})
class Walk:
    def alternatives(self, task):
        found = []
        for variant in ("long", "short"):
            knobs = Knobs("{name}/" + variant)
            for knob in ("unroll", "width"):
                knobs.define_knob(knob, [1, 2, 3])
            found.append(knobs.alternative())
        return found

    def lower(self, task, config):
        return config.strategy

    def layouts(self, task, config):
        from tilewright.vocabulary.config import Layouts
        return Layouts(("A", config.strategy), ("A",))

@hookimpl
def tilewright_strategies():
    return [Walk]
"""


@pytest.fixture
def plugin(tmp_path):
    """A function that writes a plugin file, by the strategy's name and those of before."""

    def write(name, *aliases, file="mine"):
        path = tmp_path / f"{file}.py"
        path.write_text(WALK.format(name=name, aliases=aliases))
        return path

    return write


@pytest.fixture
def host(toy, plugin):
    return PluginHost.load([toy, plugin("walk.toy", "stroll", "walk")])


@pytest.fixture
def task(host):
    return Task(host.reference("toyadd").parse("(8)", ""), Target.parse("toy:threads=1"))


def names(space):
    return [alternative.name for alternative in space.alternatives]


@pytest.mark.parametrize("name", ["walk.toy", "walk", "stroll/short"])
def test_it_is_found_by_every_name(host, name):
    assert host.strategy(name).name == "walk.toy"
    assert host.revisions[strategy_of(name)] == 1
    assert "walk" not in list(host.revisions)


@pytest.mark.parametrize(
    ("glob", "variants"),
    [
        ("walk.toy", ["long", "short"]),
        ("walk", ["long", "short"]),
        ("walk/*", ["long", "short"]),
        ("walk*", ["long", "short"]),
        ("stroll/short", ["short"]),
        ("mine/walk", ["long", "short"]),
        ("mine/walk/long", ["long"]),
    ],
)
def test_globs_of_before_mean_it(host, task, glob, variants):
    host.check_strategies(glob, task.target, "")
    assert names(host.space(task, glob)) == [f"walk.toy/{variant}" for variant in variants]


def test_a_glob_of_neither_name_is_refused(host, task):
    with pytest.raises(UsageError, match="no strategy for toy:threads=1 matches 'walks'"):
        host.check_strategies("walks", task.target, "")


def test_what_it_is_given_bears_its_present_name(host, task):
    config = ConfigEntity("walk/long", {"unroll": 1, "width": 2})
    assert host.present(config) == ConfigEntity("walk.toy/long", config.values)
    assert host.lower(task, config) == "walk.toy/long"
    assert host.layouts(task, config).inputs[1] == "walk.toy/long"


def test_a_context_may_answer_by_a_name_of_before(host, task):
    config = ConfigEntity("walk/long", {"unroll": 1, "width": 2})
    answer = asked_first(
        [ApplyConfig(config)], task, None, lambda: host.space(task), "here", present=host.present
    )
    assert answer.config == host.present(config)


def test_who_has_a_name_now_has_it_alone(toy, plugin):
    renamed, own = plugin("walk.toy", "walk"), plugin("walk", file="theirs")
    host = PluginHost.load([toy, renamed, own])
    assert host.strategy("walk").name == "walk"
    assert host.revisions.present("walk/long") == "walk/long"


def test_a_name_of_before_that_two_had_means_neither(toy, plugin):
    files = plugin("walk.toy", "walk"), plugin("march.toy", "walk", file="theirs")
    host = PluginHost.load([toy, *files])
    assert host.revisions.get("walk") is None
    with pytest.raises(UsageError, match="no strategy named 'walk'"):
        host.strategy("walk")


def test_a_run_goes_on_where_the_one_before_the_new_name_ended(pipeline_file, plugin):
    path = pipeline_file()

    def run(*names, more=None):
        return Pipeline.load(path, plugins=[plugin(*names)]).run(more=more).report

    before = run("walk")
    again = run("walk.toy", "walk")
    assert before["measurement"]["trials"] == 20
    assert again["measurement"]["trials"] == 0
    assert [task["best_seconds"] for task in again["tasks"]] == [
        task["best_seconds"] for task in before["tasks"]
    ]
    trials = {task["strategy"] for task in again["tasks"]}
    assert trials <= {"toy.loop", "walk.toy/long", "walk.toy/short"}


def test_no_config_is_measured_once_more_for_the_new_name(pipeline_file, plugin):
    path = pipeline_file(tune="tuner: toy, budget: 20")
    for names, more in ((("walk",), None), (("walk.toy", "walk"), 100)):
        settings = ["strategies=walk*"]
        result = Pipeline.load(path, plugins=[plugin(*names)], settings=settings).run(more=more)
    records = JsonlRecordStore(result.folder / "records.jsonl").records()
    assert len({strategy_of(record.config.strategy) for record in records}) == 2
    searched = [
        (record.task.key, variant_of(record.config.strategy), *record.config.values.values())
        for record in records
        if record.trial.input.conditions.turns == 1
    ]
    assert len(searched) == len(set(searched)) == 36
