"""Every hook is documented, small, and used by somebody in this repository."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from tilewright.host.plugin_host import PluginHost


@pytest.fixture(scope="module")
def hooks() -> dict[str, Callable[..., Any]]:
    """Every specification by name: core's, and those of the plugins."""
    from tilewright.host import hookspecs

    modules = [hookspecs, *PluginHost.load().hook_values("tilewright_hookspecs")]
    found = {
        name: function
        for module in modules
        for name, function in vars(module).items()
        if name.startswith("tilewright_")
    }
    assert {"tilewright_tuners", "tilewright_featurize", "tilewright_operators"} <= set(found)
    return found


def test_hooks_are_documented_with_their_first_implementer(
    hooks: Mapping[str, Callable[..., Any]],
) -> None:
    undocumented = [name for name, function in hooks.items() if not inspect.getdoc(function)]
    assert undocumented == []


def test_hooks_take_at_most_three_arguments_without_defaults(
    hooks: Mapping[str, Callable[..., Any]],
) -> None:
    offenders = []
    for name, function in hooks.items():
        parameters = inspect.signature(function).parameters.values()
        plain = all(p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)
        if len(parameters) > 3 or not plain:
            offenders.append(name)
    assert offenders == []


OF_PACKAGES = {"tilewright_record_packs"}
"""Implemented by packages that `tilewright records pack` writes."""


def test_every_hook_has_an_implementer_here(
    hooks: Mapping[str, Callable[..., Any]], sources: Sequence[Any]
) -> None:
    implemented = {name for name, _, _ in _implementations(sources)}
    assert set(hooks) - implemented == OF_PACKAGES


def test_every_implementation_fits_its_specification(
    hooks: Mapping[str, Callable[..., Any]], sources: Sequence[Any]
) -> None:
    offenders = [
        f"{place}: {name}({', '.join(arguments)})"
        for name, arguments, place in _implementations(sources)
        if name not in hooks or not set(arguments) <= set(inspect.signature(hooks[name]).parameters)
    ]
    assert offenders == []


def _implementations(sources: Sequence[Any]) -> list[tuple[str, list[str], str]]:
    return [
        (node.name, [a.arg for a in node.args.args if a.arg != "self"], source.place)
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.FunctionDef)
        and any("hookimpl" in ast.unparse(decorator) for decorator in node.decorator_list)
    ]
