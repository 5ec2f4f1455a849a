"""Every benchmark starts, and saves what it prints."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
SCRIPTS = sorted(
    path.relative_to(FOLDER).as_posix()
    for path in (*FOLDER.glob("*.py"), *FOLDER.glob("cuda/*.py"))
    if "ArgumentParser" in path.read_text(encoding="utf-8")
)
OF_THE_MODEL = sorted(
    path.relative_to(FOLDER).as_posix()
    for path in FOLDER.glob("models/*.py")
    if "ArgumentParser" in path.read_text(encoding="utf-8")
)
PRINT_NO_RESULT = {"cuda/part.py", "page.py", "saving.py"}
"""One makes reports that cuda/summary.py reads, one the page."""


@pytest.mark.needs(
    "cli", "pipeline", "records", "testing", "x86", "cuda", "graph", "search", "measure", "onnx"
)
@pytest.mark.parametrize("script", [name for name in SCRIPTS if name != "saving.py"])
def test_it_starts_and_offers_to_save(script):
    command = [sys.executable, str(FOLDER / script), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ("--save" in done.stdout) == (script not in PRINT_NO_RESULT)


@pytest.mark.needs("cli", "pipeline", "records", "x86", "search", "measure", "models")
@pytest.mark.parametrize("script", OF_THE_MODEL)
def test_what_trains_and_judges_the_cost_model_starts(script):
    command = [sys.executable, str(FOLDER / script), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.needs("cli", "pipeline", "records", "testing", "x86", "search", "measure")
def test_finalists_are_judged_by_more_than_one_round():
    command = [sys.executable, str(FOLDER / "finalists.py"), "--rounds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--rounds: expected 2 or more" in done.stderr
