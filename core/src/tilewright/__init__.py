"""Tilewright: tune tensor programs, choose layouts, compile networks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# Not late like the others: importing the module of that name would put the module in its place.
from tilewright.strategy import Strategy, strategy

if TYPE_CHECKING:
    from tilewright.api import compile, tune  # noqa: A004  the public name is what users expect
    from tilewright.errors import UsageError
    from tilewright.pipeline import Pipeline
    from tilewright.plugin import Component, hookimpl, hookspec

# Imported when first used: `import tilewright` costs next to nothing.
_HOMES = {
    "Component": "tilewright.plugin",
    "Pipeline": "tilewright.pipeline",
    "UsageError": "tilewright.errors",
    "compile": "tilewright.api",
    "hookimpl": "tilewright.plugin",
    "hookspec": "tilewright.plugin",
    "tune": "tilewright.api",
}
__all__ = [
    "Component",
    "Pipeline",
    "Strategy",
    "UsageError",
    "compile",
    "hookimpl",
    "hookspec",
    "strategy",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tilewright' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
