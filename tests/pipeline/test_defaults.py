"""The component of a role that is taken where nobody names one: whoever offers it says so."""

from __future__ import annotations

import pytest

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.options import DEFAULT, Choice
from tilewright_pipeline.pipeline import Pipeline
from tilewright_pipeline.yaml.file_model import PipelineFile
from tilewright_pipeline.yaml.schema import pipeline_schema

ROLES = ("tuner", "scheduler", "runner", "builder", "record_store", "cost_model", "target")


@pytest.fixture
def tuners(tmp_path):
    """A function that writes a plugin file with tuners and gives its path."""

    def write(name, *components):
        path = tmp_path / f"{name}.py"
        offered = ", ".join(f"Component({one}, load=lambda: None)" for one in components)
        path.write_text(
            "from tilewright import Component, hookimpl\n\n"
            f"@hookimpl\ndef tilewright_tuners():\n    return [{offered}]\n"
        )
        return path

    return write


@pytest.fixture
def without_search(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_BLOCK_PLUGINS", "search")


@pytest.mark.needs("search", "x86")
def test_the_installed_plugins_declare_one_of_each_role():
    host = PluginHost.load()
    assert {role: host.default(role) for role in ROLES} == {
        "tuner": "xgb",
        "scheduler": "round-robin",
        "runner": "local",
        "builder": "local",
        "record_store": "jsonl",
        "cost_model": "xgboost",
        "target": "x86",
    }
    assert host.resolve_target() == host.resolve_target("native")


def test_a_plugin_of_ones_own_gives_the_default(tuners, without_search):
    mine = tuners("mine", "'plain', 's'", "'best', 's', default=True")
    host = PluginHost.load([mine])
    assert host.default("tuner") == "best"
    assert host.component("tuner", "").name == "best"
    schema = pipeline_schema(host)["properties"]["stages"]["items"]["anyOf"]
    (tune,) = (stage["properties"]["tune"] for stage in schema if "tune" in stage["properties"])
    assert tune["anyOf"][0]["properties"]["tuner"]["default"] == "best"
    assert "default" not in tune["anyOf"][0]["properties"]["scheduler"]


def test_several_defaults_are_named_with_their_owners(tuners, without_search):
    one, other = (tuners(name, f"'{name}', 's', default=True") for name in ("mine", "yours"))
    with pytest.raises(UsageError) as error:
        PluginHost.load([one, other]).default("tuner")
    assert "several are the default tuner: 'mine' of " in error.value.message
    assert str(other) in error.value.message
    assert error.value.remedy == "name one: mine or yours"


def test_where_none_is_the_default_one_has_to_be_named(tuners, without_search):
    host = PluginHost.load([tuners("mine", "'plain', 's'", "'odd', 's'")])
    with pytest.raises(UsageError, match="no tuner is the default") as error:
        host.default("tuner")
    assert error.value.remedy.startswith("name one: odd or plain")
    assert "blocks tilewright-search" in error.value.remedy
    assert host.component("tuner", "odd").name == "odd"


def test_where_none_is_installed_it_is_said_who_has_one(without_search):
    with pytest.raises(UsageError, match="no tuner is installed") as error:
        PluginHost.load().default("tuner")
    assert "tilewright-search" in error.value.remedy


def test_a_default_that_is_no_truth_value_is_the_plugins_mistake(tuners, monkeypatch):
    monkeypatch.delenv("TILEWRIGHT_STRICT_PLUGINS", raising=False)
    host = PluginHost.load([tuners("mine", "'best', 's', default='yes'")])
    assert "best" not in host.components("tuner")
    (mine,) = (plugin for plugin in host.plugins if plugin.owner.module.endswith("mine.py"))
    assert "`default` is 'yes', expected True or False" in mine.reasons[0]


def test_an_empty_name_is_no_choice():
    with pytest.raises(ValueError, match="expected a name"):
        Choice.parse("")


def test_a_plan_names_what_the_file_leaves_open(pipeline_file, tuners, without_search):
    path = pipeline_file(tune="budget: 20")
    mine = tuners("mine", "'best', 's', default=True")
    plan = Pipeline.load(path, plugins=[mine]).plan
    (tune,) = (stage for stage in plan.stages if stage.name == "tune")
    assert tune.options.tuner == Choice("best")
    assert plan.file.measure.runner == Choice("toy")
    assert PipelineFile(version=1, stages=[{}]).measure.runner == DEFAULT
    with pytest.raises(UsageError, match=r"toy.yaml:\d+:\d+: .*tuner: no tuner is the default"):
        Pipeline.load(path)
