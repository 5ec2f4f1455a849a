"""No module and no folder of a distribution imports in a circle, late and type-only imports included."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

import pytest

FREE = (
    *(
        "cli",
        "core",
        "cuda",
        "graph",
        "measure",
        "onnx",
        "openvino",
        "pipeline",
        "recordings",
        "records",
        "search",
    ),
    *("tensor", "testing", "x86"),
)
RECURSIVE = "tilewright_tensor.expressions"
"""An expression reads tensors, which are defined by expressions: its modules are one language."""


def modules(sources: Sequence[Any], distribution: str) -> Mapping[str, Any]:
    """The sources of a distribution by dotted name; packages, whose files re-export, are left out."""
    found = {}
    for source in sources:
        if source.distribution == distribution and source.path.name != "__init__.py":
            parts = source.path.with_suffix("").parts
            found[".".join(parts[parts.index("src") + 1 :])] = source
    return found


def imported(source: Any) -> set[str]:
    """What a file imports: modules, and names that may be modules."""
    found = set(source.imports())
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def circle(arrows: Mapping[str, set[str]]) -> list[str]:
    """The names along one circle; [] where there is none."""
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("distribution", FREE)
def test_modules_and_folders_do_not_import_in_circles(
    sources: Sequence[Any], distribution: str
) -> None:
    own = modules(sources, distribution)
    arrows = {name: imported(source) & own.keys() for name, source in own.items()}
    apart = {
        name: {o for o in others if not (name.startswith(RECURSIVE) and o.startswith(RECURSIVE))}
        for name, others in arrows.items()
    }
    assert circle(apart) == []
    folders: dict[str, set[str]] = defaultdict(set)
    for name, others in arrows.items():
        for other in others:
            one, two = name.rpartition(".")[0], other.rpartition(".")[0]
            if one != two and "." in one and "." in two:
                folders[one].add(two)
    assert circle(folders) == []


def test_a_circle_is_found() -> None:
    assert circle({"a": {"b"}, "b": {"a"}})
    assert not circle({"a": {"b"}, "b": {"c"}})
