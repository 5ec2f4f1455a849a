"""The best few records of each task, as AutoTVM's `pick_best` takes them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.roles import RecordStore
from tilewright.strategies.strategy import strategy_of
from tilewright.vocabulary.measure import Conditions
from tilewright.vocabulary.record import Query, Record
from tilewright.vocabulary.task import Task
from tilewright_records.readers import JsonlReader, find_reader, read_log
from tilewright_records.store.compact import identity_of
from tilewright_records.store.store import JsonlRecordStore

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.roles import Ranked


def distilled(path: Path, count: int, host: PluginHost) -> list[Record]:
    """The records of the fastest configs of each task, device and kind of conditions.

    Of each at most `count` configs. Those of the strategies installed here are ranked as a run
    ranks them; those of other systems, in a log of theirs too, by their times. Raises UsageError
    where the file cannot be read.
    """
    found: list[Record] = []
    if isinstance(find_reader(path, host), JsonlReader):
        store = JsonlRecordStore(path)
        for task in store.tasks():
            found += _with_their_past(task, store, list(fastest(task, store, count, host)))
    lines = (line for _, line in read_log(path, host))
    return found + list(_fastest_of_others(lines, count, host))


def fastest(task: Task, store: RecordStore, count: int, host: PluginHost) -> Iterator[Ranked]:
    """The fastest configs of a task by device and kind of conditions, at most `count` of each."""
    own = store.records(task.key)
    asked = dict.fromkeys((r.fingerprint, r.trial.input.conditions.constants) for r in own)
    for fingerprint, constants in asked:
        query = Query(task, Conditions(constants), fingerprint, host.revisions)
        yield from islice(store.ranked(query), count)


def _with_their_past(task: Task, store: RecordStore, best: Sequence[Ranked]) -> Iterator[Record]:
    """All measurements of the configs ranked, in order, of which their ranks are made.

    Without what a stage was charged for them: the file that they go to is of no stage.
    """
    wanted = {identity_of(ranked.record) for ranked in best}
    for record in store.records(task.key):
        if identity_of(record) in wanted and not record.trial.result.spoiled:
            yield replace(record, charge=None)


def _fastest_of_others(lines: Iterable[object], count: int, host: PluginHost) -> Iterator[Record]:
    groups: dict[Hashable, dict[str, Record]] = {}
    for record in lines:
        if not isinstance(record, Record) or record.seconds is None:
            continue
        if strategy_of(record.config.strategy) in host.revisions:
            continue
        part = record.task.key, record.fingerprint, record.trial.input.conditions.constants
        best = groups.setdefault(part, {})
        known = best.get(record.config.text)
        if known is None or record.seconds < (known.seconds or 0.0):
            best[record.config.text] = record
    for best in groups.values():
        yield from sorted(best.values(), key=lambda record: record.seconds or 0.0)[:count]
