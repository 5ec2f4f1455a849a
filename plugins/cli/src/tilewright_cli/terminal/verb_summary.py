"""What a verb does, in one line, without importing it."""

from __future__ import annotations

import ast
import importlib.util
from importlib.metadata import EntryPoint
from pathlib import Path


def verb_summary(point: EntryPoint) -> str:
    """First line of the docstring of the function that an entry point names, read from its source.

    So help costs the same with any number of plugins, and no plugin can break it. Empty where
    there is no source.
    """
    try:
        tree = ast.parse(_source(point.module))
    except (OSError, ImportError, SyntaxError, ValueError):
        return ""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == point.attr:
            return (ast.get_docstring(node) or "").partition("\n")[0].removesuffix(".")
    return ""


def _source(module: str) -> bytes:
    top, *below = module.split(".")
    # Of the outermost package only: looking for a module inside would import the package.
    spec = importlib.util.find_spec(top)
    if spec is None or spec.origin is None:
        raise ImportError(module)
    if not below:
        return Path(spec.origin).read_bytes()
    path = Path(spec.origin).parent.joinpath(*below)
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_bytes()
