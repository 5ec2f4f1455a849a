"""What plugins offer for a role: which of the values that they give fit, and their names."""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Iterable
from typing import Any

from tilewright.plugins.catalogue import Offer
from tilewright.plugins.hook_names import hook_of
from tilewright.plugins.loading.owner import Owner
from tilewright.plugins.loading.plugin_loading import Plugin
from tilewright.plugins.plugin import Component

USUAL_NAME = re.compile(r"[a-z][a-z0-9]*([._-][a-z0-9]+)*")
"""What the names of components look like, so that none needs quotes."""


def word_of(role: str) -> str:
    """The role as people say it."""
    return "operator" if role == "reference" else role.replace("_", " ")


def collected(role: str, values: Iterable[tuple[Any, Plugin]], kind: type) -> list[Offer[Any]]:
    """The offers of a role's hook that are of a kind; others are told as their plugin's defect."""
    hook = hook_of(role)
    offers: dict[tuple[str, Owner], Offer[Any]] = {}
    for value, plugin in values:
        name = _name_of(role, value)
        if reason := _misfit(role, value, kind):
            plugin.fail(f"{hook}: {reason}")
        elif (name, plugin.owner) in offers:
            plugin.fail(f"{hook}: two of its own are called '{name}'")
        else:
            offers[name, plugin.owner] = Offer(name, value, plugin.owner)
    return list(offers.values())


def _name_of(role: str, value: Any) -> Any:
    return getattr(value, "operator" if role == "reference" else "name", None)


def _misfit(role: str, value: Any, kind: type) -> str:
    """Why a value can be no contribution to a role; empty where it can."""
    name = _name_of(role, value)
    if not isinstance(value, kind) or not isinstance(name, str):
        return f"a {type(value).__name__} is no {word_of(role)}"
    plain = name if role != "reference" else name.rpartition("/")[2]  # operators may clash
    if not plain or "/" in plain or not name.isprintable():
        return f"{name!r} is no name for a {word_of(role)}: nobody could choose it"
    if isinstance(value, Component):
        return _component_misfit(role, value)
    return ""


def _component_misfit(role: str, component: Component[Any]) -> str:
    named = f"{word_of(role)} '{component.name}'"
    if not isinstance(component.summary, str):
        return f"{named}: its summary is a {type(component.summary).__name__}, expected a text"
    for part in ("load", "options", "lacks"):
        if not callable(getattr(component, part)):
            return f"{named}: its `{part}` cannot be called"
    words = component.capabilities
    if not isinstance(words, frozenset | set) or not all(isinstance(w, str) for w in words):
        return f"{named}: its capabilities are no set of texts"
    if not isinstance(component.default, bool):
        return f"{named}: its `default` is {component.default!r}, expected True or False"
    return ""


def lack_of(component: Component[Any]) -> str:
    """What a component lacks on this machine; empty where that is nothing."""
    lack = component.lacks()
    if not isinstance(lack, str):
        raise TypeError(f"expected a text, got {lack!r}")
    return lack


def place_of(value: Any) -> str:
    """`FILE:LINE` of the class or function of a component; empty where it is unknown."""
    with contextlib.suppress(Exception):  # what its `load` raises is told by whoever calls it
        factory = value.load()
        return f"{inspect.getsourcefile(factory)}:{inspect.getsourcelines(factory)[1]}"
    return ""
