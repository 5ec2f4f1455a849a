"""Entry points: whose they are, and which are blocked."""

from __future__ import annotations

import importlib.metadata
import os

from tilewright.plugins.owner import Owner

PLUGIN_GROUP = "tilewright"


def blocked_words() -> frozenset[str]:
    """What TILEWRIGHT_BLOCK_PLUGINS names: plugins and distributions."""
    words = os.environ.get("TILEWRIGHT_BLOCK_PLUGINS", "").split(",")
    return frozenset(filter(None, map(str.strip, words)))


def owner_of(point: importlib.metadata.EntryPoint) -> Owner:
    """The owner of an entry point, which may have the name of its distribution's plugin."""
    distribution, version = (point.dist.name, point.dist.version) if point.dist else ("?", "?")
    return Owner(distribution, version, point.module, point.name)
