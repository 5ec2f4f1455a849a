"""Wheels of this repository's distributions, and environments that hold them and no checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Environment:
    """A virtual environment; its packages are in `site`."""

    folder: Path

    @property
    def site(self) -> Path:
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        return self.folder / "lib" / version / "site-packages"

    def python(self, *arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run its interpreter to the end."""
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(
            [self.folder / "bin" / "python", *map(str, arguments)],
            cwd=cwd,
            env=kept,
            capture_output=True,
            text=True,
            check=False,
        )

    def tilewright(self, *arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run the command line."""
        code = "import sys; from tilewright_cli import main; sys.exit(main())"
        return self.python("-c", code, *arguments, cwd=cwd)

    def install(self, wheel: Path) -> None:
        """What an installer does with a wheel of pure Python."""
        with zipfile.ZipFile(wheel) as files:
            files.extractall(self.site)


@pytest.fixture(scope="session")
def build_wheel(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """The wheel of a distribution's folder, made without network."""
    from hatchling.builders.wheel import WheelBuilder

    made = tmp_path_factory.mktemp("wheels")
    return lambda folder: Path(
        next(WheelBuilder(str(folder)).build(directory=str(made), versions=["standard"]))
    )


@pytest.fixture
def environment(
    tmp_path: Path, build_wheel: Callable[[Path], Path]
) -> Callable[[Sequence[Path]], Environment]:
    """An environment with the wheels of these folders, and with what others wrote from here."""

    def make(folders: Sequence[Path]) -> Environment:
        made = Environment(tmp_path / "environment")
        venv.create(made.folder, symlinks=True)
        for place in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
            for entry in Path(place).iterdir():
                ours = entry.name.startswith(("tilewright", "_editable", "__editable"))
                if not ours and entry.suffix != ".pth" and entry.name != "__pycache__":
                    (made.site / entry.name).symlink_to(entry)
        for folder in folders:
            made.install(build_wheel(folder))
        return made

    return make
