"""Puts the records of several files into one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tilewright.canonical import canonical_json
from tilewright.json_object import BadLineError
from tilewright.roles import RecordStore
from tilewright.vocabulary.record import AnyRecord, BudgetRecord, Record
from tilewright_records.encoding import record_json
from tilewright_records.readers import JsonlReader, read_log
from tilewright_records.store.compact import added, budget_of, identity_of

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost

_LEAST_SECONDS = 1e-6
"""Less is the rounding of a sum."""


class Merged(NamedTuple):
    """How many records were added, and how many lines of other files are none that is known."""

    added: int
    left_behind: int


def merge_logs(
    sources: Sequence[Path], into: RecordStore, host: PluginHost | None = None
) -> Merged:
    """Append the records of other files that the store does not hold yet.

    Files are read by the installed readers that recognise them. Records are equal apart from their
    sequence numbers, which are assigned again. What a file measured again later is left out where
    the store holds the later one: of copies of one file, a compacted one has lost it. Of a stage
    that both know, the store then says the larger of what either says was spent.
    """
    count = left_behind = 0
    for source in sources:
        found = [record for _, record in read_log(source, host)]
        records = [record for record in found if not isinstance(record, BadLineError)]
        left_behind += len(found) - len(records)
        held = _held(into)
        known = set(map(_content, held))
        contents = list(map(_content, records))
        told = list(zip(records, contents, strict=True))
        last = {identity_of(one): content for one, content in told if not _is_spoiled(one)}
        fresh = [
            record
            for record, content in told
            if not isinstance(record, BudgetRecord)
            if not {content, last.get(identity_of(record))} & known
        ]
        count += _append(fresh, known, into)
        count += _append(_unpaid(records, [*held, *fresh]), known, into)
    return Merged(count, left_behind)


def append_missing(records: Iterable[AnyRecord], into: RecordStore) -> int:
    """Append those that a store's file does not hold yet: how many these are."""
    return _append(records, set(map(_content, _held(into))), into)


def _held(store: RecordStore) -> list[AnyRecord]:
    found = JsonlReader().read(store.path) if store.path.exists() else ()
    return [record for _, record in found if not isinstance(record, BadLineError)]


def _append(records: Iterable[AnyRecord], known: Set[str], into: RecordStore) -> int:
    missing: dict[str, AnyRecord] = {}
    for record in records:
        if (content := _content(record)) not in known:
            missing.setdefault(content, record)
    if missing:
        into.append(missing.values())
    return len(missing)


def _unpaid(records: Iterable[AnyRecord], held: Iterable[AnyRecord]) -> Iterator[BudgetRecord]:
    """Of each stage, what the records say was spent beyond what those held say."""
    paid = _spent(held)
    for stage, spent in _spent(records).items():
        own = paid.get(stage, replace(spent, finished=False, seconds=0.0, trials=0))
        seconds, trials = spent.seconds - own.seconds, spent.trials - own.trials
        if seconds > _LEAST_SECONDS or trials > 0 or spent.finished > own.finished:
            yield replace(spent, seconds=max(seconds, 0.0), trials=max(trials, 0))


def _spent(records: Iterable[AnyRecord]) -> dict[Hashable, BudgetRecord]:
    """What each stage spent, by its own lines and by what its trials were charged."""
    found: dict[Hashable, BudgetRecord] = {}
    for record in records:
        if isinstance(record, Record) and record.charge is not None:
            line = budget_of(record, record.charge)
        elif isinstance(record, BudgetRecord):
            line = record
        else:
            continue
        found[identity_of(line)] = added(found.get(identity_of(line)), line)
    return found


def _is_spoiled(record: AnyRecord) -> bool:
    return isinstance(record, Record) and record.trial.result.spoiled


def _content(record: AnyRecord) -> str:
    return canonical_json({**record_json(record), "sequence": 0})
