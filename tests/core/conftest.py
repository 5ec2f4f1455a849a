from __future__ import annotations

import pytest

from tilewright.cli.group import run


@pytest.fixture(autouse=True)
def _plain_environment(plain_environment):
    """Every test here runs in it."""


@pytest.fixture
def call(capsys, toy, tmp_path, monkeypatch):
    """A function that runs a verb in a fresh folder: (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments, plugin=True):
        code = run([*arguments, *(["--plugin", str(toy)] if plugin else [])])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return invoke
