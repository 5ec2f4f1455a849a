"""The README of a distribution has a line on each of its folders: what the folder says of itself."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = sorted([*ROOT.glob("core/src/tilewright"), *ROOT.glob("plugins/*/src/tilewright_*")])


def rows(package):
    """Lines of the table, from the docstrings of the folders."""
    for file in sorted(package.glob("*/__init__.py")):
        says = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        yield f"| `{file.parent.name}/` | {says.splitlines()[0]} |"


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_a_readme_has_a_line_on_every_folder(package):
    readme = package.parents[1] / "README.md"
    lines = readme.read_text(encoding="utf-8").splitlines()
    wanted = list(rows(package))
    assert [line for line in wanted if line not in lines] == []
    assert [line for line in lines if line.startswith("| `") and "/` |" in line] == wanted
