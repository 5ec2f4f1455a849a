"""What `uv build --all-packages` makes installs and runs where there is no checkout and no network."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROJECTS = sorted(ROOT.glob("plugins/*/pyproject.toml")) + [ROOT / "core" / "pyproject.toml"]

pytestmark = pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not installed")


def run(*command, cwd):
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def names():
    return {tomllib.loads(path.read_text("utf-8"))["project"]["name"] for path in PROJECTS}


def test_wheels_of_all_packages_install_and_tune_in_an_environment_of_their_own(
    tmp_path, environment, cache, monkeypatch
):
    made = environment([])  # what others wrote, and nothing of ours
    work, wheels = tmp_path / "work", tmp_path / "wheels"
    work.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    # of each the source distribution, and a wheel from that, by the build system that is here
    # of each the source distribution, and a wheel from that, by the build system that is here
    build = ("uv", "build", "--offline", "--all-packages", "--no-build-isolation")
    run(*build, "--python", sys.executable, "--out-dir", wheels, ROOT, cwd=work)
    found = {path.name.partition("-")[0].replace("_", "-"): path for path in wheels.glob("*.whl")}
    assert set(found) == names()

    # pip sees that what others wrote is there already, and looks for nothing elsewhere
    pip = (sys.executable, "-m", "pip", "--python", made.folder / "bin" / "python", "install")
    wanted = ("tilewright[x86,onnx]", *names())
    run(*pip, "--quiet", "--no-compile", "--no-index", "--find-links", wheels, *wanted, cwd=work)

    def tilewright(*arguments):
        return json.loads(run(made.folder / "bin" / "tilewright", *arguments, "--json", cwd=work))

    listed = tilewright("plugins")["plugins"]
    assert {plugin["state"] for plugin in listed} == {"ok"}
    assert len(listed) > len(names()) / 2
    assert str(ROOT) not in json.dumps(listed)
    task = ("tune", "dense(3x37, 11x37)", "--target", "x86:threads=1", "--budget", "2")
    assert tilewright(*task)["best_seconds"] > 0
