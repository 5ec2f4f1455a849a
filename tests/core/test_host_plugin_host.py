"""PluginHost: isolation, ownership, clashes, blocking, plugin files."""

from __future__ import annotations

import pytest
from toy_tasks import entry

from tilewright import Strategy, hookimpl
from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.strategies.strategy import strategy
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task

TASK = entry(8).task


def write(tmp_path, body, name="other.py"):
    path = tmp_path / name
    path.write_text("from tilewright import Component, hookimpl\n" + body)
    return path


def test_a_plugin_file_offers_components_with_a_known_owner(toy):
    host = PluginHost.load([toy])
    assert host.components("tuner")["toy"].summary == "in order"
    assert host.owners("tuner")["toy"].module == str(toy)
    assert host.files == (toy,)


def test_tracing_shows_calls(toy, monkeypatch, capsys):
    monkeypatch.setenv("TILEWRIGHT_TRACE_PLUGINS", "1")
    PluginHost.load([toy]).components("tuner")
    assert "tilewright_tuners <- toy_plugin" in capsys.readouterr().err


def test_a_missing_or_broken_plugin_file_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="no plugin file"):
        PluginHost.load([tmp_path / "none.py"])
    with pytest.raises(UsageError, match="ZeroDivisionError"):
        PluginHost.load([write(tmp_path, "1/0")])


def test_a_component_of_a_blocked_plugin_is_said_to_be_of_one(monkeypatch, toy, capsys):
    monkeypatch.setenv("TILEWRIGHT_BLOCK_PLUGINS", "cuda,tilewright-x86")
    host = PluginHost.load([toy])
    with pytest.raises(UsageError, match=r"it is of tilewright-x86 .*, which is blocked") as error:
        host.component("target", "x86")
    assert error.value.remedy == "take tilewright-x86 out of TILEWRIGHT_BLOCK_PLUGINS"
    with pytest.raises(UsageError) as error:
        host.component("target", "moon")
    assert "TILEWRIGHT_BLOCK_PLUGINS blocks tilewright-cuda, tilewright-x86" in error.value.remedy
    assert capsys.readouterr().err == ""


def test_a_typo_in_the_block_list_is_told(monkeypatch, capsys):
    monkeypatch.setenv("TILEWRIGHT_BLOCK_PLUGINS", "serch")
    host = PluginHost.load()
    assert all(plugin.state == "ok" for plugin in host.plugins)
    said = capsys.readouterr().err
    assert "TILEWRIGHT_BLOCK_PLUGINS: no plugin 'serch'; did you mean 'search'?" in said


def test_a_spec_module_of_a_plugin_adds_a_role(tmp_path):
    body = """
import types
from tilewright import hookspec
specs = types.ModuleType("specs")
@hookspec
def tilewright_oddities():
    pass
specs.tilewright_oddities = tilewright_oddities
@hookimpl
def tilewright_hookspecs():
    return [specs]
"""
    offers = "@hookimpl\ndef tilewright_oddities():\n    return [Component('o', 's', lambda: None)]"
    host = PluginHost.load(
        [write(tmp_path, offers, "first.py"), write(tmp_path, body, "second.py")]
    )
    assert list(host.components("oddity")) == ["o"]
    assert "oddity" in host.roles()


def test_notify_reaches_the_others_when_one_raises():
    heard = []

    class Raises:
        @hookimpl
        def tilewright_run_started(self, run):
            raise ValueError(run)

    class Hears:
        @hookimpl
        def tilewright_run_started(self, run):
            heard.append(run)

    host = PluginHost.load((), [Hears(), Raises(), Hears()])
    host.notify("tilewright_run_started", run="it")
    assert heard == ["it", "it"]
    assert [p.state for p in host.plugins if p.name == "Raises"] == ["failed"]


def test_unknown_names_and_options_come_with_the_nearest(host):
    with pytest.raises(UsageError, match="did you mean 'toy'"):
        host.component("tuner", "toyy")
    with pytest.raises(UsageError, match="did you mean 'batch'"):
        host.make("tuner", "toy", {"bach": 3}, None)
    with pytest.raises(UsageError, match=r"tuner 'toy': batch: .* got 'many'"):
        host.make("tuner", "toy", {"batch": "many"}, None)
    with pytest.raises(UsageError, match=r"no operator named 'toyad'(.|\n)*--plugin FILE"):
        host.reference("toyad")


def test_targets_resolve_by_plugin_or_by_text(host):
    assert str(host.resolve_target("toynative")) == "toy:threads=1"
    assert str(host.resolve_target("toy:threads=2")) == "toy:threads=2"
    with pytest.raises(UsageError, match="did you mean 'toy'"):
        host.resolve_target("toi:threads=2")
    assert host.backend("toy") is host.backend("toy")


def test_the_space_holds_what_the_glob_leaves(host):
    assert host.space(TASK).size == 128
    assert host.space(TASK, "toy.*").size == 128
    with pytest.raises(UsageError, match="matches 'other'") as error:
        host.space(TASK, "other")
    assert "known: toy.loop" in str(error.value)
    assert [s.name for s in host.strategies(TASK)] == ["toy.loop"]
    assert host.revisions["toy.loop"] == 1
    config = host.fallback_config(TASK, host.space(TASK))
    assert config["unroll"] == 1
    assert host.layouts(TASK, config).outputs == ("A",)
    assert host.lower(TASK, config)[0] == "program"


def test_without_a_strategy_for_a_task_those_of_other_targets_are_not_offered(host):
    task = Task(TASK.workload, Target("other"))
    with pytest.raises(UsageError) as error:
        host.space(task)
    assert error.value.message == "no strategy for 'toyadd' on other"
    assert "new plugin NAME --kind strategy" in error.value.remedy


def test_a_plugins_opinion_on_fallbacks_comes_before_the_strategies_if_it_is_in_the_space(
    toy, tmp_path
):
    body = """
from tilewright.vocabulary.config import ConfigEntity
@hookimpl
def tilewright_fallback_config(task, space):
    size = task.workload.inputs[0].shape[0]
    return ConfigEntity("toy.loop", {"unroll": 8, "width": size}) if size != 9 else None
"""
    host = PluginHost.load([toy, write(tmp_path, body)])
    assert host.fallback_config(TASK, host.space(TASK))["width"] == 8
    for size in (9, 99):
        assert all(plugin.state == "ok" for plugin in host.plugins)
        other = entry(size).task
        assert host.fallback_config(other, host.space(other))["width"] == 1
    (failed,) = (plugin for plugin in host.plugins if plugin.state == "failed")
    assert failed.name == "other"
    assert "no point of the space" in failed.reasons[0]


def test_without_any_advice_the_first_feasible_point_is_the_fallback(host, monkeypatch):
    monkeypatch.setenv("TOY_SPACE", "one")
    space = host.space(TASK)
    assert host.fallback_config(TASK, space) == space.first()


def test_a_template_of_ones_own_is_a_strategy_with_few_words():
    @strategy("mine.loop", operator="toyadd", target="toy")
    class Mine:
        def alternatives(self, task):
            return []

    assert isinstance(Mine, Strategy)
    assert Mine.serves(TASK)
    schedule = Mine.load(None)
    assert schedule.applies(TASK)
    assert schedule.fallback(TASK) is None


def test_a_users_mistake_told_by_a_plugin_is_not_the_plugins_failure(toy, tmp_path):
    body = """
from tilewright.errors import UsageError
@hookimpl
def tilewright_resolve_target(text):
    raise UsageError("no such part", where=text)
"""
    host = PluginHost.load([toy, write(tmp_path, body)])
    with pytest.raises(UsageError, match="toy:part=x: no such part"):
        host.resolve_target("toy:part=x")
    assert all(plugin.state == "ok" for plugin in host.plugins)
