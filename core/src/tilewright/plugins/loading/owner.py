"""Who contributed something, and whose contributions are kept out."""

from __future__ import annotations

import importlib.metadata
import os
from dataclasses import dataclass
from pathlib import Path

PLUGIN_GROUP = "tilewright"
"""The entry points that name plugins."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of a contribution: distribution, version, module or file, and plugin name.

    A plugin file is of no distribution: its version is `-`.
    """

    distribution: str
    version: str
    module: str
    plugin: str

    def __str__(self) -> str:
        return f"{self.source} ({self.module})" if self.installed else self.source

    @property
    def source(self) -> str:
        """Where it is from: `tilewright-search 0.1.0`, or `file /folder/mine.py`."""
        return f"{self.distribution} {self.version if self.installed else self.module}"

    @property
    def installed(self) -> bool:
        """Whether it is from a distribution, not from a plugin file or a caller's object."""
        return self.version != "-"

    @property
    def words(self) -> tuple[str, ...]:
        """What may stand for it in OWNER/NAME, the usual word first."""
        if self.installed:
            return self.distribution, self.plugin
        return Path(self.module).name, self.plugin, self.module


def blocked_words() -> frozenset[str]:
    """What TILEWRIGHT_BLOCK_PLUGINS names: plugins and distributions."""
    words = os.environ.get("TILEWRIGHT_BLOCK_PLUGINS", "").split(",")
    return frozenset(filter(None, map(str.strip, words)))


def owner_of(point: importlib.metadata.EntryPoint) -> Owner:
    """The owner of an entry point, which may have the name of its distribution's plugin."""
    distribution, version = (point.dist.name, point.dist.version) if point.dist else ("?", "?")
    return Owner(distribution, version, point.module, point.name)
