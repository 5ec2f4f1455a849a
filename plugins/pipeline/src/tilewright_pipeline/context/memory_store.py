"""The history of a run that has no record store: kept in memory, gone when it ends."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import merge
from pathlib import Path

from tilewright.roles import Count, Ranked, Spent
from tilewright.strategies.strategy import strategy_of
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import Failure, Trial
from tilewright.vocabulary.race import Standings
from tilewright.vocabulary.record import AnyRecord, BudgetRecord, GraphRecord, Query, Record
from tilewright.vocabulary.revisions import present_choice, present_name, present_record
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.workload import Workload


class MemoryRecordStore:
    """A `RecordStore` without a file; `path` only names it in messages."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bad_lines = 0
        self.other_versions = 0
        self._lock = threading.RLock()
        self._kept: list[AnyRecord] = []

    def append(self, records: Iterable[AnyRecord]) -> None:
        with self._lock:
            numbered = enumerate(records, len(self._kept))
            self._kept += [replace(record, sequence=number) for number, record in numbered]

    def refresh(self) -> None:
        """Nobody else appends."""

    def records(self, task_key: str | None = None) -> Sequence[Record]:
        return [one for one in self._trials() if task_key in (None, one.task.key)]

    def tasks(self) -> list[Task]:
        return list(dict.fromkeys(record.task for record in self._trials()))

    def trials(self, device_fingerprint: str, revisions: Mapping[str, int]) -> list[Trial]:
        return [
            present_record(record, revisions).trial
            for record in self._trials()
            if record.fingerprint == device_fingerprint and _is_current(record, revisions)
        ]

    def count(self, query: Query) -> Count:
        found = [record for record in self._of_task(query) if query.asks_for(record.config)]
        return Count(len(found), sum(record.seconds is None for record in found))

    def ranked(self, query: Query) -> Iterator[Ranked]:
        return _ranked(self._of_task(query), query)

    def best(self, query: Query) -> Record | None:
        return next((found.record for found in self.ranked(query)), None)

    def best_of_anchor(self, query: Query) -> Record | None:
        anchor = query.task.workload.anchor_key
        kin = [
            present_record(record, query.revisions)
            for record in self._trials()
            if _counts(record, query)
            and record.task != query.task
            and record.task.target == query.task.target
            and record.task.workload.anchor_key == anchor
        ]
        return next((found.record for found in _ranked(kin, query)), None)

    def failed(self, query: Query) -> dict[ConfigEntity, Failure]:
        last = {r.config: r for r in self._of_task(query) if not r.trial.result.spoiled}
        oldest_first = sorted(last.values(), key=lambda record: record.sequence)
        return {
            record.config: record.trial.result.failure
            for record in oldest_first
            if record.trial.result.failure is not None and query.asks_for(record.config)
        }

    def of_other_systems(
        self, workload: Workload, revisions: Mapping[str, int]
    ) -> Sequence[Record]:
        return [
            record
            for record in self._trials()
            if strategy_of(record.config.strategy) not in revisions
            and record.task.workload.anchor_key == workload.anchor_key
        ]

    def graph_choices(
        self, device_fingerprint: str, revisions: Mapping[str, int]
    ) -> dict[str, GraphRecord]:
        choices = [record for record in self._kept if isinstance(record, GraphRecord)]
        return {
            record.node: present_choice(record, revisions)
            for record in choices
            if record.fingerprint == device_fingerprint and _is_current(record, revisions)
        }

    def spent(self, stage: str, device: Device) -> Spent:
        finished, seconds, trials = False, 0.0, 0
        for record in self._kept:
            if isinstance(record, GraphRecord) or record.fingerprint != device.fingerprint:
                continue
            part = record if isinstance(record, BudgetRecord) else record.charge
            if part is not None and part.stage == stage:
                finished |= isinstance(record, BudgetRecord) and record.finished
                seconds, trials = seconds + part.seconds, trials + part.trials
        return Spent(finished, seconds, trials)

    def stale(self, revisions: Mapping[str, int]) -> Counter[str]:
        chosen = [record for record in self._kept if not isinstance(record, BudgetRecord)]
        named = ((strategy_of(record.config.strategy), record.revision) for record in chosen)
        return Counter(
            present_name(name, revisions) for name, own in named if revisions.get(name, own) != own
        )

    def targets(self, revisions: Mapping[str, int]) -> Counter[Target]:
        return Counter(
            record.task.target
            for record in self._trials()
            if strategy_of(record.config.strategy) in revisions
        )

    def devices(self, revisions: Mapping[str, int] | None = None) -> Counter[tuple[str, str]]:
        return Counter(
            (record.device, record.fingerprint)
            for record in self._trials()
            if revisions is None or strategy_of(record.config.strategy) in revisions
        )

    def _trials(self) -> list[Record]:
        return [record for record in self._kept if isinstance(record, Record)]

    def _of_task(self, query: Query) -> list[Record]:
        own = (record for record in self._trials() if record.task == query.task)
        return [present_record(one, query.revisions) for one in own if _counts(one, query)]


def _ranked(records: Iterable[Record], query: Query) -> Iterator[Ranked]:
    by_number = {record.sequence: record for record in records}
    standings: dict[Task, Standings[ConfigEntity]] = {}
    for number, record in by_number.items():
        if not record.trial.result.spoiled:
            own = standings.setdefault(record.task, Standings())
            in_turns = record.trial.input.conditions.turns > 1
            own.add(record.config, record.seconds, number, in_turns=in_turns)
    for place in merge(*(own.ranked() for own in standings.values())):
        if query.asks_for(by_number[place.number].config):
            yield Ranked(by_number[place.number], place.seconds)


def _counts(record: Record, query: Query) -> bool:
    return (
        record.trial.input.conditions.constants == query.conditions.constants
        and record.fingerprint == query.fingerprint
        and _is_current(record, query.revisions)
    )


def _is_current(record: Record | GraphRecord, revisions: Mapping[str, int]) -> bool:
    return revisions.get(strategy_of(record.config.strategy)) == record.revision
