"""The pages of the Python API name what exists, and leave out nothing public."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

import tilewright

PAGES = Path(__file__).parents[2] / "docs" / "api"
SHOWN = sorted(
    name
    for page in PAGES.glob("*.md")
    for name in re.findall(r"^::: (\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
)


def found(name):
    """The module or the member of a module of this name."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        module, _, member = name.rpartition(".")
        return getattr(import_module(module), member)


@pytest.mark.parametrize("name", SHOWN)
def test_what_a_page_shows_exists_and_says_what_it_is(name):
    assert found(name).__doc__


def test_every_public_name_is_shown():
    without = {"__version__", "hookimpl", "hookspec"}  # a text, and pluggy's markers
    shown = [found(name) for name in SHOWN]
    assert [
        name
        for name in set(dir(tilewright)) - without
        if not any(getattr(tilewright, name) is value for value in shown)
    ] == []
