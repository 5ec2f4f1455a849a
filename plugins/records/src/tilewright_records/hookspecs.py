"""Hooks that tilewright-records adds: record stores, readers of records files, packs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilewright.plugins.plugin import Component, hookspec

if TYPE_CHECKING:
    from tilewright.roles import RecordReader, RecordStore
    from tilewright_records.packs.record_pack import RecordPack


@hookspec
def tilewright_record_stores() -> Sequence[Component[RecordStore]]:
    """Where records are kept; (options, path). First: records."""
    raise NotImplementedError


@hookspec
def tilewright_record_readers() -> Sequence[Component[RecordReader]]:
    """Readers of records files; (options, host). First: records, for its own format."""
    raise NotImplementedError


@hookspec
def tilewright_record_packs() -> Sequence[Component[RecordPack]]:
    """History that comes as a package of data; (options, host). `records pack` writes one.

    First: whoever shares records.
    """
    raise NotImplementedError
