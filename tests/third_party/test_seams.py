"""What the third party stands on: core and tensor, and of these nothing private."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "third_party_plugin" / "src"


def imported() -> Iterator[tuple[str, str]]:
    """(module, name) of everything imported from this repository."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("tilewright"):
                yield from ((str(node.module), alias.name) for alias in node.names)


def test_core_and_tensor_are_all_it_imports():
    packages = {module.partition(".")[0] for module, _ in imported()}
    assert packages == {"tilewright", "tilewright_acme", "tilewright_tensor"}


def test_nothing_private_is_imported():
    names = {part for module, name in imported() for part in (*module.split("."), name)}
    assert {name for name in names if name.startswith("_")} == set()
