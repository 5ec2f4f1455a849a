"""Installs the wheels of bundle.sh beside a Python that is left as it is; no network.

    python3 benchmarks/cuda/install.py WHEELS SITE

Only what this Python lacks is put into SITE, so that its own packages (a PyTorch and the numpy it
was built with) stay in force. Afterwards: PYTHONPATH=SITE.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGES = (
    "tilewright",
    "tilewright-cuda",
    "tilewright-search[xgb]",
    "tilewright-measure",
    "tilewright-onnx",
)
OPTIONAL = ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12", "pycuda")
"""Installed where they are among the wheels."""


def missing(wheels: Path) -> list[str]:
    """Paths of the wheels that pip would install here."""
    there = {path.name.split("-")[0].replace("_", "-") for path in wheels.glob("*.whl")}
    wanted = [*PACKAGES, *(name for name in OPTIONAL if name in there)]
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        offline = ["--no-index", "--find-links", str(wheels)]
        _pip("install", "--dry-run", "--report", report.name, *offline, *wanted)
        planned = json.loads(Path(report.name).read_text(encoding="utf-8"))["install"]
    return [str(wheels / Path(one["download_info"]["url"]).name) for one in planned]


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True)


def main() -> None:
    wheels, site = (Path(argument).resolve() for argument in sys.argv[1:3])
    if found := missing(wheels):
        _pip("install", "--no-index", "--no-deps", "--upgrade", "--target", str(site), *found)


if __name__ == "__main__":
    main()
