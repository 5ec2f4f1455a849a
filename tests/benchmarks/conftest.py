"""Benchmarks are scripts: their folder is on the path while a test runs."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def module(monkeypatch):
    """`module(name)` of the folder."""
    monkeypatch.syspath_prepend(str(FOLDER))
    yield import_module
    for name, one in list(sys.modules.items()):
        if str(FOLDER) in (getattr(one, "__file__", None) or ""):
            del sys.modules[name]
