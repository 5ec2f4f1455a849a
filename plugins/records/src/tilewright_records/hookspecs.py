"""Hooks that tilewright-records adds: record stores, and readers of records files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilewright.plugins.plugin import Component, hookspec

if TYPE_CHECKING:
    from tilewright.roles import RecordReader, RecordStore


@hookspec
def tilewright_record_stores() -> Sequence[Component[RecordStore]]:
    """Where records are kept; (options, path). First: records."""
    raise NotImplementedError


@hookspec
def tilewright_record_readers() -> Sequence[Component[RecordReader]]:
    """Readers of records files; (options, host). First: records, for its own format."""
    raise NotImplementedError
