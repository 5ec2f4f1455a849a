"""PluginHost: isolation, ownership, clashes, blocking, plugin files."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from tilewright import Component, Strategy, hookimpl, strategy
from tilewright.errors import UsageError
from tilewright.host import PluginHost
from tilewright.target import Target
from tilewright.task import Task
from tilewright.workload import TensorSpec, Workload

TASK = Task(
    Workload("toyadd", (TensorSpec((8,)), TensorSpec((1,), role="constant")), {"bias": 0}),
    Target("toy", {"threads": "1"}),
)


def write(tmp_path, body, name="other.py"):
    path = tmp_path / name
    path.write_text("from tilewright import Component, hookimpl\n" + body)
    return path


TUNER = """
@hookimpl
def tilewright_tuners():
    return [Component("{name}", "a tuner", lambda: None)]
"""


@pytest.fixture
def fake_distribution(tmp_path, monkeypatch):
    """A function that installs a distribution with one module and one entry point of group `tilewright`."""

    def install(name, body, entry=None):
        module = name.replace("-", "_")
        (tmp_path / f"{module}.py").write_text(
            "from tilewright import Component, hookimpl\n" + body
        )
        folder = tmp_path / f"{module}-2.3.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.3\n")
        (folder / "entry_points.txt").write_text(f"[tilewright]\n{entry or module} = {module}\n")
        monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
        monkeypatch.delitem(sys.modules, module, raising=False)

    return install


def state(host, name):
    (plugin,) = [plugin for plugin in host.plugins if plugin.name == name]
    return plugin.state, "; ".join(plugin.reasons)


def test_a_plugin_file_offers_components_with_a_known_owner(toy):
    host = PluginHost.load([toy])
    assert host.components("tuner")["toy"].summary == "in order"
    assert host.owners("tuner")["toy"].module == str(toy)
    assert host.files == (toy,)


def test_two_plugins_with_one_name_are_an_error_that_names_both(toy, fake_distribution):
    fake_distribution("acme-tuners", TUNER.format(name="toy"))
    with pytest.raises(UsageError) as error:
        PluginHost.load([toy]).components("tuner")
    assert "acme-tuners 2.3 (acme_tuners)" in str(error.value)
    assert str(toy) in str(error.value)
    assert "TILEWRIGHT_BLOCK_PLUGINS=" in str(error.value)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise RuntimeError('broken on purpose')", "broken on purpose"),
        ("import sys\nsys.exit(3)", "SystemExit"),
        ("import no_such_module_here", "ModuleNotFoundError"),
        ("TILEWRIGHT_API = 0", "made for API 0"),
        ("@hookimpl\ndef tilewright_tuner():\n    return []", "unknown hook 'tilewright_tuner'"),
        ("@hookimpl\ndef tilewright_tuners(extra):\n    return []", "does not register"),
        ("@hookimpl(wrapper=True)\ndef tilewright_tuners():\n    return (yield)", "wrappers"),
        ("@hookimpl\ndef tilewright_hookspecs():\n    return [3]", "sequence of modules"),
    ],
    ids=["raises", "exits", "misses", "old-api", "misspelt", "arguments", "wrapper", "specs"],
)
def test_a_bad_plugin_is_listed_and_the_others_work(toy, fake_distribution, capsys, body, reason):
    fake_distribution("acme-bad", body)
    host = PluginHost.load([toy])
    assert state(host, "acme_bad")[0] == "failed"
    assert reason in state(host, "acme_bad")[1]
    assert "acme-bad 2.3" in capsys.readouterr().err
    assert "toy" in host.components("tuner")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("@hookimpl\ndef tilewright_tuners():\n    raise KeyError('oh')", "raised KeyError: 'oh'"),
        (
            "@hookimpl\ndef tilewright_tuners():\n    return 'toy'",
            "expected a list or tuple, got str",
        ),
        ("@hookimpl\ndef tilewright_tuners():\n    return [3]", "a int is no tuner"),
        (
            "@hookimpl\ndef tilewright_tuners():\n    import sys\n    sys.exit(1)",
            "raised SystemExit",
        ),
    ],
    ids=["raises", "no-list", "no-component", "exits"],
)
def test_a_hook_that_misbehaves_costs_only_its_plugin(toy, fake_distribution, body, reason):
    fake_distribution("acme-hook", body)
    host = PluginHost.load([toy])
    assert "toy" in host.components("tuner")
    assert reason in state(host, "acme_hook")[1]


def test_strict_makes_a_bad_plugin_fatal(fake_distribution, monkeypatch):
    fake_distribution("acme-bad", "raise RuntimeError('broken')")
    monkeypatch.setenv("TILEWRIGHT_STRICT_PLUGINS", "1")
    with pytest.raises(RuntimeError, match=r"acme-bad 2\.3.*broken"):
        PluginHost.load()


def test_a_blocked_plugin_is_not_imported(fake_distribution, monkeypatch):
    fake_distribution("acme-bad", "raise RuntimeError('imported all the same')")
    monkeypatch.setenv("TILEWRIGHT_BLOCK_PLUGINS", "search,acme-bad")
    host = PluginHost.load()
    assert state(host, "acme_bad")[0] == state(host, "search")[0] == "blocked"
    assert "acme_bad" not in sys.modules


def test_an_entry_point_name_taken_twice_is_a_conflict(fake_distribution):
    fake_distribution("acme-one", TUNER.format(name="one"), entry="same")
    fake_distribution("acme-two", TUNER.format(name="two"), entry="same")
    host = PluginHost.load()
    states = {p.owner.distribution: p.state for p in host.plugins if p.name == "same"}
    assert states == {"acme-one": "ok", "acme-two": "conflict"}
    assert "two" not in host.components("tuner")


def test_what_a_plugin_prints_goes_to_stderr(fake_distribution, capsys):
    fake_distribution("acme-loud", "print('hello')")
    PluginHost.load()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "hello" in captured.err


def test_tracing_shows_calls(toy, monkeypatch, capsys):
    monkeypatch.setenv("TILEWRIGHT_TRACE_PLUGINS", "1")
    PluginHost.load([toy]).components("tuner")
    assert "tilewright_tuners <- toy_plugin" in capsys.readouterr().err


def test_a_missing_or_broken_plugin_file_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="no plugin file"):
        PluginHost.load([tmp_path / "none.py"])
    with pytest.raises(UsageError, match="ZeroDivisionError"):
        PluginHost.load([write(tmp_path, "1/0")])


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
    assert state(host, "Raises")[0] == "failed"


def test_unknown_names_and_options_come_with_the_nearest(host):
    with pytest.raises(UsageError, match="did you mean 'toy'"):
        host.component("tuner", "toyy")
    with pytest.raises(UsageError, match="did you mean 'batch'"):
        host.make("tuner", "toy", {"bach": 3}, None)
    with pytest.raises(UsageError, match=r"tuner 'toy': batch: .*got 'many'"):
        host.make("tuner", "toy", {"batch": "many"}, None)
    with pytest.raises(UsageError, match="no operator named 'toyad'"):
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


def test_a_plugins_opinion_on_fallbacks_comes_before_the_strategies(toy, tmp_path):
    body = """
from tilewright.config import ConfigEntity
@hookimpl
def tilewright_fallback_config(task, space):
    size = task.workload.inputs[0].shape[0]
    return ConfigEntity("toy.loop", {"unroll": 8, "width": size}) if size == 8 else None
"""
    host = PluginHost.load([toy, write(tmp_path, body)])
    assert host.fallback_config(TASK, host.space(TASK))["width"] == 8
    workload = replace(TASK.workload, inputs=(TensorSpec((9,)), *TASK.workload.inputs[1:]))
    other = replace(TASK, workload=workload)
    assert host.fallback_config(other, host.space(other))["width"] == 1


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


def test_component_is_exported_for_plugin_files():
    assert Component("a", "b", lambda: None).capabilities == frozenset()


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
