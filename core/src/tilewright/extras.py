"""What the extras of tilewright bring: plugins that are not installed yet."""

from __future__ import annotations

import importlib.metadata


def how_to_install(name: str) -> str:
    """`pip install 'tilewright[NAME]' brings it` where an extra has this name, else empty."""
    return f"pip install 'tilewright[{name}]' brings it" if name in _extras() else ""


def how_to_install_any() -> str:
    """How to install plugins, where none is there to offer anything."""
    return f"pip install 'tilewright[EXTRA]', EXTRA one of {', '.join(sorted(_extras()))}"


def _extras() -> list[str]:
    return importlib.metadata.metadata("tilewright").get_all("Provides-Extra") or []
