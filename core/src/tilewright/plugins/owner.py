"""Who contributed something."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


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
