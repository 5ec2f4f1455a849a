"""Components whose classes are called after them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from tilewright.plugin import Component


def named_component(
    name: str, summary: str, module: str, role: str, *capabilities: str
) -> Component[Any]:
    """The component of class NameRole in `tilewright_graph.MODULE`, with NameOptions beside it.

    Nothing is imported before it is used.
    """

    def late(kind: str) -> Callable[[], Any]:
        title = name.title().replace("-", "")
        return lambda: getattr(import_module(f"tilewright_graph.{module}"), title + kind)

    return Component(name, summary, late(role), late("Options"), frozenset(capabilities))
