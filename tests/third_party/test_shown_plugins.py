"""The plugins that docs/writing-plugins.md shows are what `tilewright new plugin` writes, and work as single files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tilewright_cli.new.new_plugin import plugin_files
from tilewright_cli.terminal.group import run

PAGE = (Path(__file__).parents[2] / "docs" / "writing-plugins.md").read_text(encoding="utf-8")
TASK = ("tune", "dense(16x24, 32x24)", "--target", "x86:threads=1", "--budget", "4", "--json")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Peaks of the machine are measured once."""
    return tmp_path_factory.mktemp("cache")


def test_the_page_shows_what_is_written():
    shown = set(re.findall(r"```python file=\S+\n(.*?)```", PAGE, re.DOTALL))
    written = [
        text
        for kind in ("tuner", "strategy", "target")
        for path, text in plugin_files("mine", kind).items()
        if path in ("src/mine/plugin.py", "src/mine/backend.py")
    ]
    assert len(written) == 4
    assert [text for text in written if text not in shown] == []


@pytest.mark.parametrize("kind", ["tuner", "strategy", "target"])
def test_the_tests_of_two_plugins_can_be_run_together(kind):
    """Without packages around them, pytest takes each name of a file once."""
    one, other = (set(plugin_files(name, kind)) for name in ("one", "other"))
    assert one & other == {"README.md", "pyproject.toml", "run.yaml"}


def test_the_tuner_has_less_than_forty_lines():
    assert plugin_files("mine", "tuner")["src/mine/plugin.py"].count("\n") < 40


@pytest.mark.parametrize(
    ("kind", "choice"), [("tuner", ("--tuner", "mine")), ("strategy", ("--strategies", "mine.x86"))]
)
def test_a_plugin_is_used_from_its_file(kind, choice, cache, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    Path("mine.py").write_text(plugin_files("mine", kind)["src/mine/plugin.py"])
    code = run([*TASK, "--plugin", "mine.py", *choice])
    told = capsys.readouterr()
    assert code == 0, told.err
    best = json.loads(told.out)
    assert best["best_seconds"] > 0
    assert kind == "tuner" or best["strategy"] == "mine.x86"
