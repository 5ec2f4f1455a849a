from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Source:
    """One Python file of a distribution: which (`core`, `x86`, ...), where, and what it says."""

    distribution: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def place(self) -> str:
        return str(self.path.relative_to(ROOT))

    def imports(self) -> Iterator[str]:
        """Dotted names of everything imported anywhere in the file, type-checking blocks included."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield "." * node.level + (node.module or "")


def _read(folder: Path, distribution: str) -> Iterator[Source]:
    for path in sorted((folder / "src").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        yield Source(distribution, path, text, ast.parse(text, str(path)))


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def sources() -> Sequence[Source]:
    """Every Python file that is shipped."""
    plugins = sorted(path for path in (ROOT / "plugins").iterdir() if (path / "src").is_dir())
    found = [*_read(ROOT / "core", "core")]
    for plugin in plugins:
        found += _read(plugin, plugin.name)
    assert len(found) > 50, "the sources have moved and these tests look at nothing"
    return found
