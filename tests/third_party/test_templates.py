"""What `tilewright new plugin` writes of each kind: its tests pass, its README says how, its YAML runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tilewright_cli.new.new_plugin import plugin_files
from tilewright_cli.terminal.group import run

KINDS = sorted(point.name for point in entry_points(group="tilewright.templates"))
APART = {"strategy", "target", "tuner"}  # their tests are run in environments of their own


def name_of(kind):
    return f"my-{kind}"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with a distribution of each kind, all of them installed, here and in processes."""
    from hatchling.builders.wheel import WheelBuilder

    folder, site = tmp_path_factory.mktemp("written"), tmp_path_factory.mktemp("site")
    for kind in KINDS:
        for path, text in plugin_files(name_of(kind), kind).items():
            place = folder / kind / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        (wheel,) = WheelBuilder(str(folder / kind)).build(
            directory=str(site / "wheels"), versions=["standard"]
        )
        with zipfile.ZipFile(wheel) as files:
            files.extractall(site)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(site)
        patch.setenv("PYTHONPATH", str(site), prepend=os.pathsep)
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield folder


def test_every_role_that_an_author_may_want_has_a_template():
    assert {*KINDS} == {
        "cost-model", "frontend", "graph-tuner", "operator", "oracle", "pass", "runner",
        "scheduler", "stage", "strategy", "target", "tuner",
    }  # fmt: skip


def test_the_tests_of_all_that_is_written_pass_in_one_call(written):
    folders = sorted({*KINDS} - APART)
    options = ("-q", "-W", "error", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir=.")
    options += ("--basetemp", str(written.parent / "called"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *folders],
        cwd=written,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout


@pytest.mark.parametrize(
    "kind",
    # Two of them are also run from their files, in test_readme.py.
    [pytest.param(k, marks=[pytest.mark.full] * (k in {"strategy", "tuner"})) for k in KINDS],
)
def test_the_yaml_of_what_is_written_runs_and_the_readme_says_so(
    kind, written, tmp_path, monkeypatch, capsys
):
    folder = written / kind
    readme = (folder / "README.md").read_text()
    assert readme.startswith(f"# {name_of(kind)}\n")
    assert "tilewright run run.yaml" in readme
    monkeypatch.chdir(folder)
    code = run(["run", "run.yaml", "--out", str(tmp_path / "out"), "--json"])
    told = capsys.readouterr()
    assert code == 0, told.err
    report = json.loads(told.out)
    ours = name_of(kind)
    if report.get("verify"):
        assert report["verify"]["passed"] is True
    if kind == "stage":
        assert len((tmp_path / "out" / "tasks.csv").read_text().splitlines()) == 4
    if kind in {"tuner", "scheduler", "cost-model", "runner", "strategy"}:
        assert ours in Path("run.yaml").read_text()
        assert all(task["best_seconds"] > 0 for task in report["tasks"])
