"""`tilewright new plugin` writes a distribution whose own tests pass, and never writes over anything."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tilewright_cli.terminal.group import run

ROOT = Path(__file__).parents[3]
HOUSE = ["core", *(f"plugins/{name}" for name in ("cli", "pipeline", "records", "testing"))]
NEEDED = {"tuner": HOUSE, "target": [*HOUSE, "plugins/tensor", "plugins/graph"]}
NEEDED["strategy"] = [*HOUSE, "plugins/tensor", "plugins/x86"]


@pytest.fixture
def new(tmp_path, cache, monkeypatch, capsys):
    """A function that calls the verb in a fresh folder: (exit code, stderr)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))

    def call(*arguments):
        return run(["new", "plugin", *arguments]), capsys.readouterr().err

    return call


@pytest.mark.parametrize("kind", NEEDED)
def test_what_is_written_installs_and_passes_its_own_tests(
    kind, new, environment, build_wheel, tmp_path
):
    # As in a checkout of another project, whose settings are not for it.
    (tmp_path / "pyproject.toml").write_text(
        "[tool.pytest.ini_options]\naddopts = '--import-mode=importlib'\n"
    )
    assert new("first", "--kind", kind) == (0, "")
    project = tomllib.loads((tmp_path / "first" / "pyproject.toml").read_text())["project"]
    assert "tilewright-testing" in project["optional-dependencies"]["test"]
    installed = environment([ROOT / folder for folder in NEEDED[kind]])
    installed.install(build_wheel(tmp_path / "first"))
    done = installed.python("-m", "pytest", "-q", "-W", "error", "first", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
    listed = installed.tilewright("plugins", cwd=tmp_path).stdout
    assert "first " in listed


def test_an_existing_folder_stays_as_it_is(new, tmp_path):
    (tmp_path / "mine").mkdir()
    code, said = new("mine", "--kind", "tuner")
    assert (code, list((tmp_path / "mine").iterdir())) == (2, [])
    assert "mine exists" in said


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("Mine", "tuner", "is no name for a plugin"),
        ("../mine", "tuner", "is no name for a plugin"),
        ("json", "tuner", "there is a package 'json' already"),
        ("yield", "tuner", "'yield' is a word of Python"),
        ("search", "tuner", "there is a plugin 'search' already"),
        ("grid", "tuner", "there is a tuner 'grid' already"),
        ("ridge", "cost-model", "there is a cost-model 'ridge' already"),
        ("zoo", "frontend", "there is a frontend 'zoo' already"),
        ("mine", "tunr", "did you mean 'tuner'"),
    ],
)
def test_a_mistake_is_one_message_and_nothing_is_written(new, tmp_path, name, kind, message):
    code, said = new(name, "--kind", kind)
    assert code == 2
    assert message in said
    assert list(tmp_path.iterdir()) == []
