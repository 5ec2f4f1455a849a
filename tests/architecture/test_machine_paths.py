"""No file holds a path of anybody's machine."""

from __future__ import annotations

import re
from pathlib import Path

HOMES = re.compile(r"(?<![\w.])/(?:home|Users|root|work)/[\w.]+|[A-Z]:\\\\Users")


def test_no_file_names_a_place_on_somebodys_machine(root: Path) -> None:
    folders = ("core", "plugins", "tests", "examples", "benchmarks")
    suffixes = {".py", ".toml", ".yaml", ".yml", ".md", ".json"}
    files = [p for folder in folders for p in (root / folder).rglob("*") if p.suffix in suffixes]
    files += [path for path in root.iterdir() if path.suffix in suffixes]
    own = Path(__file__)
    offenders = [
        f"{path.relative_to(root)}: {found.group()}"
        for path in files
        if path != own and "data" not in path.parts and ".venv" not in path.parts
        if (found := HOMES.search(path.read_text(encoding="utf-8", errors="replace")))
    ]
    assert offenders == []
