"""Whose option a misplaced one is."""

from __future__ import annotations

from contextlib import suppress

from tilewright.host.plugin_host import PluginHost
from tilewright.plugins.offers import word_of
from tilewright.plugins.plugin import Component


def takers_of(option: str, host: PluginHost) -> list[str]:
    """The components that take an option of this name: `graph tuner 'greedy'`."""
    found = []
    for role in host.roles():
        for name, component in host.components(role).items():
            with suppress(Exception):  # whose options cannot be read takes none
                if isinstance(component, Component) and option in component.options().model_fields:
                    found.append(f"{word_of(role)} '{name}'")
    return found
