"""The example of a third party is there for the tests that ask for it, and for no user."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

from tilewright.host.plugin_host import PluginHost

WORKSPACE = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())


def listed(**variables):
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", "plugins", "--json"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **variables},
    )
    return {row["distribution"] for row in json.loads(done.stdout)["plugins"]}


def test_a_new_user_is_shown_nothing_of_it():
    assert "tilewright-acme" not in listed(PYTHONPATH="")
    assert WORKSPACE["tool"]["uv"]["workspace"]["members"] == ["core", "plugins/*"]


def test_tests_have_it_as_an_installed_distribution_in_every_process(acme):
    assert "tilewright-acme" in listed()
    (plugin,) = (one for one in PluginHost.load().plugins if one.name == "acme")
    assert plugin.owner.source == "tilewright-acme 2.3.0"
    assert Path(plugin.module.__file__).is_relative_to(acme)
