"""How a verb that tunes is watched: on the terminal, and by other programs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright_cli.progress.event_file import EventFile
from tilewright_cli.progress.terminal_progress import TerminalProgress

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost


@dataclass(frozen=True, slots=True)
class Watchers:
    """The observers of a run, which its host has to be loaded with."""

    terminal: TerminalProgress
    events: EventFile | None

    @property
    def observers(self) -> tuple[object, ...]:
        return (self.terminal,) if self.events is None else (self.terminal, self.events)

    def watch(self, host: PluginHost) -> None:
        """The host whose run is watched, or an equal one."""
        self.terminal.watch(host)


@contextmanager
def watched(*, quiet: bool, events: Path | None, summary: bool = False) -> Iterator[Watchers]:
    """What `shared_options.watch_options` declare; in the end the terminal is left as it was.

    summary  whether the tables of a run that has ended are printed
    """
    watchers = Watchers(
        TerminalProgress(quiet=quiet, summary=summary),
        EventFile(events) if events is not None else None,
    )
    try:
        yield watchers
    finally:
        watchers.terminal.stop()
        if watchers.events is not None:
            watchers.events.close()
