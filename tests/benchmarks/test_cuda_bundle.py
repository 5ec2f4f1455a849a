"""What benchmarks/cuda/bundle.sh builds: all of ours that a machine without a network needs."""

from __future__ import annotations

import re
import tomllib

from .conftest import FOLDER

ROOT = FOLDER.parent


def needed(folder):
    """Names of our distributions that one of them depends on."""
    project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
    names = {re.split(r"[\[<>=; ]", text)[0] for text in project["dependencies"]}
    return {name for name in names if name.startswith("tilewright")}


def test_every_distribution_brings_those_it_depends_on():
    text = (FOLDER / "cuda" / "bundle.sh").read_text()
    plugins = re.search(r"^ours=\(core plugins/\{([\w,]+)\}\)$", text, re.MULTILINE)[1].split(",")
    built = {"tilewright", *(f"tilewright-{name}" for name in plugins)}
    missing = {
        folder: needed(folder) - built
        for folder in ("core", *(f"plugins/{name}" for name in plugins))
        if needed(folder) - built
    }
    assert missing == {}
