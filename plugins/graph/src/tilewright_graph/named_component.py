"""Components whose classes are called after them."""

from __future__ import annotations

from typing import Any

from tilewright.plugins.plugin import Component, late


def named_component(
    name: str, summary: str, module: str, role: str, *capabilities: str, default: bool = False
) -> Component[Any]:
    """The component of class NameRole in `tilewright_graph.MODULE`, with NameOptions beside it.

    Nothing is imported before it is used.
    """
    place, title = f"tilewright_graph.{module}", name.title().replace("-", "")
    load, options = late(place, title + role), late(place, f"{title}Options")
    return Component(name, summary, load, options, frozenset(capabilities), default=default)


def tuner(name: str, summary: str, *capabilities: str, default: bool = False) -> Component[Any]:
    """A graph tuner of this distribution."""
    place = f"selection.solvers.{name}"
    return named_component(name, summary, place, "Tuner", *capabilities, default=default)


def stage(name: str, summary: str) -> Component[Any]:
    """A stage of this distribution."""
    return named_component(name, summary, f"stages.{name.replace('-', '_')}_stage", "Stage")
