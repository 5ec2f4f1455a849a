"""Whatever plugin is taken away, the tests of those that do not depend on it pass.

Each suite runs in an environment with its own plugin and those that this one depends on, and no other: so none of the others
matters to it. Tests that need more say so (conftest.py at the root) and are left out.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PLUGINS = sorted(path.parent.name for path in ROOT.glob("plugins/*/pyproject.toml"))


def closure(name: str) -> list[Path]:
    """Folders of core, of a plugin, and of all plugins that it depends on."""
    found, pending = set(), [] if name == "core" else [name]
    while pending:
        plugin = pending.pop()
        found.add(plugin)
        project = tomllib.loads((ROOT / "plugins" / plugin / "pyproject.toml").read_text())
        pending += re.findall(r"tilewright-(\w+)", " ".join(project["project"]["dependencies"]))
    return [ROOT / "core", *(ROOT / "plugins" / plugin for plugin in sorted(found))]


def pytest_in(installed, cwd, *arguments):
    options = ("-n0", "-p", "no:cacheprovider", "--rootdir", ROOT, "-c", ROOT / "pyproject.toml")
    return installed.python("-m", "pytest", *options, *arguments, cwd=cwd)


def test_with_core_alone_its_tests_are_what_remains(environment, tmp_path):
    installed = environment(closure("core"))
    listed = pytest_in(installed, tmp_path, ROOT / "tests", "--collect-only")
    assert listed.returncode == 0, listed.stdout
    folders = {line.split("/")[1] for line in listed.stdout.splitlines() if "::" in line}
    assert "core" in folders
    assert folders & set(PLUGINS) == set()
    done = pytest_in(installed, tmp_path, ROOT / "tests" / "core" / "test_space_knobs.py", "-x")
    assert done.returncode == 0, done.stdout


@pytest.mark.full
@pytest.mark.parametrize("name", ["core", *PLUGINS])
def test_a_suite_passes_with_nothing_but_what_its_plugin_depends_on(name, environment, tmp_path):
    done = pytest_in(environment(closure(name)), tmp_path, ROOT / "tests" / name)
    assert done.returncode == 0, done.stdout
