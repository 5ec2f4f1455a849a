"""The page of the architecture names folders and values that there are, and every folder once."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGES = {path.name: path for path in ROOT.glob("*/src/tilewright")}
PACKAGES |= {path.name: path for path in ROOT.glob("plugins/*/src/tilewright_*")}
UNNAMED = {"cli", "testing", "templates", "__pycache__"}  # the page says what these hold


def test_every_place_that_is_named_exists():
    named = set(re.findall(r"`(tilewright(?:_\w+)?)/([\w/]+)`", PAGE))
    assert len(named) > 20
    assert [f"{name}/{path}" for name, path in named if not (PACKAGES[name] / path).exists()] == []


def test_every_folder_of_a_distribution_stands_in_its_row():
    rows = re.findall(r"^\| `(tilewright[\w-]*)`[^|]*\|[^|]*\| (.*) \|$", PAGE, re.MULTILINE)
    shown = {name.replace("-", "_"): set(re.findall(r"`(\w+)/`", cell)) for name, cell in rows}
    assert shown.keys() == PACKAGES.keys()
    for name, package in PACKAGES.items():
        folders = {path.name for path in package.iterdir() if path.is_dir()}
        assert folders - UNNAMED == shown[name] - UNNAMED, name


def test_every_value_that_is_named_exists():
    files = [path for package in PACKAGES.values() for path in package.rglob("*.py")]
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in files)
    classes = {
        node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    }
    named = set(re.findall(r"`([A-Z][a-z]\w+)`", PAGE))
    assert len(named) > 20
    assert named - classes == set()
