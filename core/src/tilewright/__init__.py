"""Tilewright: tune tensor programs, choose layouts, compile networks."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points, version
from typing import Any

# Imported when first used: `import tilewright` costs next to nothing. `__init__.pyi` has the types.
_HOMES = {
    "Component": "plugins.plugin",
    "ConfigSpace": "space.config_space",
    "DispatchContext": "strategies.dispatch",
    "MeasureInput": "vocabulary.measure",
    "MeasureResult": "vocabulary.measure",
    "PluginHost": "host.plugin_host",
    "Strategy": "strategies.strategy",
    "Target": "vocabulary.target",
    "Task": "vocabulary.task",
    "UsageError": "errors",
    "Workload": "vocabulary.workload",
    "hookimpl": "plugins.plugin",
    "hookspec": "plugins.plugin",
    "strategy": "strategies.strategy",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version("tilewright")
    if name in _HOMES:
        return getattr(import_module(f"tilewright.{_HOMES[name]}"), name)
    if name in _added():
        return _added()[name].load()
    if name == "__all__":
        return __dir__()
    raise AttributeError(f"module 'tilewright' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*_HOMES, *_added(), "__version__"])


@cache
def _added() -> dict[str, EntryPoint]:
    """What distributions add to the package's own names: `tune`, `compile`, `Pipeline`."""
    return {point.name: point for point in entry_points(group="tilewright.names")}
