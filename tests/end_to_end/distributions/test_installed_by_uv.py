"""Everything is built and installed as a user would, from wheels, and does the main job."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
OURS = {
    *("cli", "cuda", "graph", "measure", "onnx", "openvino", "pipeline", "recordings", "records"),
    *("search", "tensor", "testing", "x86"),
}

pytestmark = [
    pytest.mark.full,  # asks the package index for what others wrote
    pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not installed"),
]


def uv(*arguments, cwd):
    done = subprocess.run(
        ["uv", *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_wheels_of_all_packages_tune_resnet50_in_a_clean_environment(tmp_path, cache, monkeypatch):
    uv("build", "--all-packages", "--wheel", "--out-dir", tmp_path / "dist", ROOT, cwd=tmp_path)
    acme_folder = ROOT / "tests" / "third_party_plugin"
    uv("build", "--wheel", "--out-dir", tmp_path / "dist", acme_folder, cwd=tmp_path)
    wheels = {path.name.partition("-")[0]: path for path in (tmp_path / "dist").glob("*.whl")}
    assert set(wheels) == {"tilewright", "tilewright_acme", *(f"tilewright_{n}" for n in OURS)}
    core, acme = wheels.pop("tilewright"), wheels.pop("tilewright_acme")

    uv("venv", "clean", cwd=tmp_path)
    install = ("pip", "install", "--python", "clean")
    uv(*install, f"tilewright[x86,cuda,onnx] @ {core.as_uri()}", *wheels.values(), cwd=tmp_path)
    shutil.copy(ROOT / "examples" / "resnet50.yaml", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    program = tmp_path / "clean" / "bin" / "tilewright"

    def tilewright(*arguments):
        done = subprocess.run(
            [program, *arguments, "--json"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    report = tilewright("run", "resnet50.yaml", "--set", "tune.budget=10s")
    assert report["verify"]["passed"]
    assert len(report["benchmark"]) == 1

    uv(*install, acme, cwd=tmp_path)
    task = ("tune", "dense(3x37, 11x37)", "--tuner", "acme-climber", "--target", "acme-c")
    assert tilewright(*task, "--budget", "3")["best_seconds"] > 0
