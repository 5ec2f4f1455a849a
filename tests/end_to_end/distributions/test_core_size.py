"""The core is small: with everything that it needs it takes less than 25 MB."""

from __future__ import annotations

import zipfile
from importlib.metadata import distribution, requires
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
MOST_BYTES = 25_000_000


def test_core_and_its_dependencies_take_less_than_25_megabytes(build_wheel):
    needed, pending = set(), ["tilewright"]
    while pending:
        name = pending.pop()
        if name not in needed:
            needed.add(name)
            wanted = map(Requirement, requires(name) or ())
            pending += [
                one.name
                for one in wanted
                if one.marker is None or one.marker.evaluate({"extra": ""})
            ]
    sizes = {name: _installed_bytes(name) for name in needed - {"tilewright"}}
    with zipfile.ZipFile(build_wheel(ROOT / "core")) as wheel:
        sizes["tilewright"] = sum(file.file_size for file in wheel.infolist())
    assert {"pluggy", "pydantic", "tilewright"} <= {name.lower() for name in sizes}
    assert not {"click", "numpy", "pyyaml", "rich"} & {name.lower() for name in sizes}
    assert sum(sizes.values()) < MOST_BYTES, sizes


def _installed_bytes(name: str) -> int:
    """Of the files that were installed; bytecode is made when a module is first used."""
    places = [file.locate() for file in distribution(name).files if file.suffix != ".pyc"]
    return sum(place.stat().st_size for place in places)
