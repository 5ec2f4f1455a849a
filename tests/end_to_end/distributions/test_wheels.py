"""From the wheels alone, with no checkout, the main job runs, and a third party's plugin beside it."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
OURS = sorted([ROOT / "core", *(p.parent for p in ROOT.glob("plugins/*/pyproject.toml"))])
ACME = ROOT / "tests" / "third_party_plugin"


@pytest.mark.parametrize("folder", [*OURS, ACME], ids=lambda folder: folder.name)
def test_a_wheel_holds_every_file_of_its_package(
    folder: Path, build_wheel: Callable[[Path], Path]
) -> None:
    source = folder / "src"
    written = {str(p.relative_to(source)) for p in source.rglob("*") if p.is_file()}
    written = {name for name in written if "__pycache__" not in name}
    with zipfile.ZipFile(build_wheel(folder)) as wheel:
        packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert packed == written
    assert any(name.endswith("py.typed") for name in packed)


def test_wheels_alone_do_the_main_job_and_take_a_third_party_in(
    environment, build_wheel, folder
) -> None:
    installed = environment(OURS)
    done = installed.tilewright("run", "tiny.yaml", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verify"]["passed"]
    assert str(ROOT) not in done.stdout + done.stderr

    task = ("tune", "dense(3x37, 11x37)", "--tuner", "acme-climber", "--budget", "3", "--json")
    without = installed.tilewright(*task, "--target", "acme-c", cwd=folder)
    assert without.returncode == 2
    assert "no tuner named 'acme-climber'" in without.stderr
    installed.install(build_wheel(ACME))
    beside = installed.tilewright(*task, "--target", "acme-c", cwd=folder)
    assert beside.returncode == 0, beside.stderr
    assert json.loads(beside.stdout)["best_seconds"] > 0
