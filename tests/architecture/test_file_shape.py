"""Files stay small, plugin files only register, and nothing is a drawer for leftovers."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from typing import Any

LINES = 400
PLUGIN_LINES = 80
MODULES = 13
DRAWERS = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}


def test_no_file_is_longer_than_the_limit(sources: Sequence[Any]) -> None:
    long = {s.place: lines for s in sources if (lines := s.text.count("\n")) > LINES}
    assert long == {}


def test_no_folder_has_more_modules_than_one_can_take_in(sources: Sequence[Any]) -> None:
    folders = Counter(s.path.parent for s in sources if s.path.name != "__init__.py")
    assert [folder for folder, modules in folders.items() if modules > MODULES] == []


def test_plugin_files_are_short(sources: Sequence[Any]) -> None:
    plugins = [source for source in sources if source.path.name == "plugin.py"]
    long = {s.place: n for s in plugins if (n := s.text.count("\n")) > PLUGIN_LINES}
    assert long == {}


def test_plugin_files_do_nothing_but_register(sources: Sequence[Any]) -> None:
    """No loops and no statements at module level but imports, functions and constants."""
    allowed = (
        ast.Import,
        ast.ImportFrom,
        ast.FunctionDef,
        ast.Assign,
        ast.AnnAssign,
        ast.If,
        ast.Expr,
    )
    offenders = []
    for source in sources:
        if source.path.name != "plugin.py" or source.distribution == "core":
            continue
        offenders += [
            f"{source.place}:{n.lineno}" for n in source.tree.body if not isinstance(n, allowed)
        ]
        loops = (ast.For, ast.While, ast.With)
        offenders += [
            f"{source.place}:{n.lineno}" for n in ast.walk(source.tree) if isinstance(n, loops)
        ]
    assert offenders == []


def test_no_file_is_a_drawer(sources: Sequence[Any]) -> None:
    assert [source.place for source in sources if source.path.stem in DRAWERS] == []


def test_every_module_says_what_it_is_for(sources: Sequence[Any]) -> None:
    assert [source.place for source in sources if not ast.get_docstring(source.tree)] == []


def test_every_public_class_and_function_has_a_docstring(sources: Sequence[Any]) -> None:
    offenders = [
        f"{source.place}:{node.lineno}: {node.name}"
        for source in sources
        for node in source.tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
        and not node.name.startswith("_")
        and not _is_hook_implementation(node)
        and not ast.get_docstring(node)
    ]
    assert offenders == []


def _is_hook_implementation(node: ast.ClassDef | ast.FunctionDef) -> bool:
    """Hook implementations are described by their specification."""
    return any("hookimpl" in ast.unparse(decorator) for decorator in node.decorator_list)
