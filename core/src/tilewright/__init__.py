"""Tilewright: tune tensor programs, choose layouts, compile networks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# Not late like the others: importing the module of that name would put the module in its place.
from tilewright.strategy import Strategy, strategy

if TYPE_CHECKING:
    from tilewright.api import compile, explain, tune  # noqa: A004  what users expect
    from tilewright.dispatch import DispatchContext
    from tilewright.errors import UsageError
    from tilewright.measure import MeasureInput, MeasureResult
    from tilewright.pipeline import Pipeline
    from tilewright.plugin import Component, hookimpl, hookspec
    from tilewright.space.config_space import ConfigSpace
    from tilewright.task import Task

    __version__: str

# Imported when first used: `import tilewright` costs next to nothing.
_HOMES = {
    "Component": "tilewright.plugin",
    "ConfigSpace": "tilewright.space.config_space",
    "DispatchContext": "tilewright.dispatch",
    "MeasureInput": "tilewright.measure",
    "MeasureResult": "tilewright.measure",
    "Pipeline": "tilewright.pipeline",
    "Task": "tilewright.task",
    "UsageError": "tilewright.errors",
    "compile": "tilewright.api",
    "explain": "tilewright.api",
    "hookimpl": "tilewright.plugin",
    "hookspec": "tilewright.plugin",
    "tune": "tilewright.api",
}
__all__ = [
    "Component",
    "ConfigSpace",
    "DispatchContext",
    "MeasureInput",
    "MeasureResult",
    "Pipeline",
    "Strategy",
    "Task",
    "UsageError",
    "__version__",
    "compile",
    "explain",
    "hookimpl",
    "hookspec",
    "strategy",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("tilewright")
    if name not in _HOMES:
        raise AttributeError(f"module 'tilewright' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
