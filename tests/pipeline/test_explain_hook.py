"""What explains the values of a pipeline's stages: the hook `tilewright_explain`."""

from __future__ import annotations

import pytest

import tilewright
from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright_pipeline.context.explaining import explainers, no_such_part


class Told:
    parts = ("first", "second")

    def explain(self, part):
        return iter([part])


class Explaining:
    """A plugin that explains the values that are a list."""

    def __init__(self):
        self.asked = []

    @tilewright.hookimpl
    def tilewright_explain(self, value, context, options):
        self.asked.append((value, options))
        return Told() if isinstance(value, list) else None


class Careless:
    @tilewright.hookimpl
    def tilewright_explain(self, value):
        return "because"


def found(host, values, options=()):
    context = type("Context", (), {"host": host})()
    return list(explainers(values, context, options))


def test_a_value_is_explained_by_the_plugin_that_knows_it(host):
    plugin = Explaining()
    loaded = PluginHost.load(host.files, [plugin])
    (one,) = found(loaded, [3, ["network"], "text"], ["options"])
    assert list(one.explain("first")) == ["first"]
    assert plugin.asked == [(value, ["options"]) for value in (3, ["network"], "text")]


def test_an_answer_that_explains_nothing_is_its_plugins_fault_and_the_next_is_asked(host):
    plugin = Explaining()
    loaded = PluginHost.load(host.files, [plugin, Careless()])
    assert len(found(loaded, [["network"]])) == 1
    (failed,) = [one for one in loaded.plugins if one.state == "failed"]
    assert failed.name == "Careless"
    assert failed.reasons == ["tilewright_explain: a str explains nothing"]


def test_a_part_that_nobody_has_is_told_with_the_nearest():
    with pytest.raises(UsageError, match="did you mean 'second'"):
        raise no_such_part("secnd", [Told()])
