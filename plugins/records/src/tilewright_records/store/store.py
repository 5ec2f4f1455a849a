"""The record store: a JSON-lines file, indexed in memory by task."""

from __future__ import annotations

import gc
import threading
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from heapq import merge
from math import inf
from pathlib import Path

from tilewright.json_object import BadLineError
from tilewright.roles import Count, Ranked, Spent
from tilewright.strategies.strategy import strategy_of
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import Failure, Trial
from tilewright.vocabulary.race import Race, ranked
from tilewright.vocabulary.record import AnyRecord, BudgetRecord, Charge, GraphRecord, Query, Record
from tilewright.vocabulary.revisions import present_choice, present_name, present_record
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.workload import Workload
from tilewright_records.decoding import OtherVersionError
from tilewright_records.encoding import record_json
from tilewright_records.line import seal
from tilewright_records.store.log_file import LogFile
from tilewright_records.store.outline import Outline, OutlineReader
from tilewright_records.store.trial_index import Series, TrialIndex


class JsonlRecordStore:
    """Append-only records in one file that any number of processes share.

    >>> store = JsonlRecordStore(Path("records.jsonl"))     # reads what is there; creates nothing
    >>> store.append([Record.of(trial, device, revision)])  # on the disk when it returns
    >>> store.refresh()                                     # what other processes appended since

    A `Query` says which records count; `revisions`, where they are asked for alone, mean what they
    mean there (`stale` counts the misses). Bad lines are skipped and counted in `bad_lines`,
    lines of a later format in `other_versions`; reading never fails for what a file holds. Raises
    UsageError for what the file system refuses.
    """

    def __init__(self, path: Path, *, create_parents: bool = False) -> None:
        self.path = Path(path)
        self._file = LogFile(self.path, create_parents=create_parents)
        self._lock = threading.RLock()
        self._taken: dict[str, Sequence[bytes]] = {}
        self._clear()
        self.refresh()

    def append(self, records: Iterable[AnyRecord]) -> None:
        """Write records, all or none, in order; each gets the next sequence number."""
        records = list(records)

        def lines() -> Sequence[bytes]:
            numbered = enumerate(records, self._next_sequence)
            return [seal(record_json(replace(record, sequence=n))) for n, record in numbered]

        with self._lock:
            self._file.append(lines, self._see, self._clear)

    def refresh(self) -> None:
        """Read what was appended since the last call."""
        # Up to a million objects, none of them garbage: collecting costs a third of the time.
        with self._lock, _no_collection():
            self._see(self._file.read_new(self._clear))

    def take_records(self, packs: Mapping[str, Sequence[bytes]]) -> None:
        """Count lines of records files of others as if they stood before all of this one.

        Records made of them say which of the packs they are from. They are never written, and
        nothing is charged to a stage for them. Bad lines are skipped.
        """
        with self._lock, _no_collection():
            self._taken |= packs
            self._file.rewind()
            self._clear()
            self._see(self._file.read_new(self._clear))

    def records(self, task_key: str | None = None) -> Sequence[Record]:
        """Every trial's record in order of the file, of one task or of all.

        Each is made when it is looked at: a long log is not held as objects.
        """
        return self._trials.records(task_key)

    def tasks(self) -> list[Task]:
        """Every task that has a trial, in order of its first."""
        return self._trials.tasks()

    def trials(
        self,
        device_fingerprint: str,
        revisions: Mapping[str, int],
        operators: Collection[str] | None = None,
    ) -> list[Trial]:
        """Trials that count on a device, of these operators or of all.

        Failures are among them; the oldest come first.
        """
        wanted = [
            series
            for series in self._trials.series
            if series.head.fingerprint == device_fingerprint
            if operators is None or series.head.task.workload.operator in operators
            if _current(series.head.strategy, series.head.revision, revisions)
        ]
        rows = self._trials.rows(wanted)
        return [present_record(self._trials.record(row), revisions).trial for row in rows]

    def count(self, query: Query) -> Count:
        """How many trials of a task count, spoiled ones among them."""
        series = [
            each
            for each in _comparable(self._trials.of_task(query.task), query)
            if query.alternatives is None
            or query.alternatives(present_name(each.head.strategy, query.revisions))
        ]
        if query.where is None:
            return Count(sum(each.trials for each in series), sum(each.failures for each in series))
        rows = self._trials.rows(series, query.task.key)
        found = [record for row in rows for record in self._asked_for(row, query)]
        return Count(len(found), sum(record.seconds is None for record in found))

    def ranked(self, query: Query) -> Iterator[Ranked]:
        """The configs of a task that have a time, fastest first.

        Of a config measured more than once the last measurement counts. A finalist comes before
        what had lost to it.
        """
        return self._ranked(self._trials.of_task(query.task), query)

    def best(self, query: Query) -> Record | None:
        """The record of the fastest config, None where there is none; see `ranked`."""
        return next((found.record for found in self.ranked(query)), None)

    def best_of_anchor(self, query: Query) -> Record | None:
        """The best record of the other tasks that differ in their epilogue only; see `ranked`.

        Of their times only the order means something for this task.
        """
        kin = self._trials.of_anchor(query.task.workload)
        others = (
            series
            for series in kin
            if series.head.task.target == query.task.target and series.head.task != query.task
        )
        return next((found.record for found in self._ranked(others, query)), None)

    def failed(self, query: Query) -> dict[ConfigEntity, Failure]:
        """The configs of a task whose last measurement failed, and how, oldest first."""
        series = _joined(_comparable(self._trials.of_task(query.task), query), query)
        rows = [row for each in series for seconds, row in each.last() if seconds == inf]
        failed = (record for row in sorted(rows) for record in self._asked_for(row, query))
        return {
            record.config: record.trial.result.failure
            for record in failed
            if record.trial.result.failure is not None
        }

    def of_other_systems(
        self, workload: Workload, revisions: Mapping[str, int]
    ) -> Sequence[Record]:
        """The records of a workload's anchor, on any target, by strategies not installed."""
        kin = self._trials.of_anchor(workload)
        strange = [series for series in kin if strategy_of(series.head.strategy) not in revisions]
        return [self._trials.record(row) for row in self._trials.rows(strange)]

    def _ranked(self, series: Iterable[Series], query: Query) -> Iterator[Ranked]:
        races: dict[Task, dict[int, Race]] = {}
        last: dict[Task, list[tuple[float, int]]] = {}
        for one in _joined(_comparable(series, query), query):
            races.setdefault(one.head.task, {}).update(one.races())
            last.setdefault(one.head.task, []).extend(one.last())
        for place in merge(*(ranked(last[task], races[task]) for task in last)):
            for record in self._asked_for(place.number, query):
                yield Ranked(record, place.seconds)

    def _asked_for(self, row: int, query: Query) -> Iterator[Record]:
        record = present_record(self._trials.record(row), query.revisions)
        if query.asks_for(record.config):
            yield record

    def graph_choices(
        self, device_fingerprint: str, revisions: Mapping[str, int]
    ) -> dict[str, GraphRecord]:
        """The last choice for each node."""
        return {
            record.node: present_choice(record, revisions)
            for record in self._graph
            if record.fingerprint == device_fingerprint
            if _current(record.config.strategy, record.revision, revisions)
        }

    def spent(self, stage: str, device: Device) -> Spent:
        """What the stage of this hash has spent on a device so far, were it killed or not."""
        return self._spent.get((stage, device.fingerprint), Spent(False, 0.0, 0))

    def stale(self, revisions: Mapping[str, int]) -> Counter[str]:
        """By strategy, how many records are misses because another revision is installed."""
        heads = ((series.head, series.trials) for series in self._trials.series)
        found = [(head.strategy, head.revision, count) for head, count in heads]
        found += [(choice.config.strategy, choice.revision, 1) for choice in self._graph]
        misses: Counter[str] = Counter()
        for strategy, revision, count in found:
            if revisions.get(strategy_of(strategy), revision) != revision:
                misses[present_name(strategy_of(strategy), revisions)] += count
        return misses

    def targets(self, revisions: Mapping[str, int]) -> Counter[Target]:
        """How many trials by these strategies each target has."""
        found: Counter[Target] = Counter()
        for series in self._trials.series:
            if strategy_of(series.head.strategy) in revisions:
                found[series.head.task.target] += series.trials
        return found

    def devices(self, revisions: Mapping[str, int] | None = None) -> Counter[tuple[str, str]]:
        """How many trials each device has, by (name, fingerprint); only by these strategies."""
        found: Counter[tuple[str, str]] = Counter()
        for series in self._trials.series:
            if revisions is not None and strategy_of(series.head.strategy) not in revisions:
                continue
            found[series.head.device, series.head.fingerprint] += series.trials
        return found

    def _clear(self) -> None:
        self.bad_lines = 0
        self.other_versions = 0
        self._next_sequence = 0
        self._reader = OutlineReader()
        self._trials = TrialIndex(self._reader.decoder)
        self._graph: list[GraphRecord] = []
        self._spent: dict[tuple[str, str], Spent] = {}
        for pack, lines in self._taken.items():
            for line in lines:
                with suppress(BadLineError):
                    self._index(line, self._reader.read(line), pack)

    def _see(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            try:
                found = self._reader.read(line)
            except OtherVersionError:
                self.other_versions += 1
            except BadLineError:
                self.bad_lines += bool(line)
            else:
                self._next_sequence = max(self._next_sequence, found.sequence + 1)
                self._index(line, found)
                if isinstance(found, Outline) and found.charge is not None:
                    self._spend(found.charge, found.head.fingerprint)
                elif isinstance(found, BudgetRecord):
                    self._spend(found, found.fingerprint, finished=found.finished)

    def _index(
        self, line: bytes, found: Outline | GraphRecord | BudgetRecord, pack: str = ""
    ) -> None:
        if isinstance(found, Outline):
            self._trials.add(line, found, pack)
        elif isinstance(found, GraphRecord):
            self._graph.append(replace(found, pack=pack) if pack else found)

    def _spend(
        self, some: Charge | BudgetRecord, fingerprint: str, *, finished: bool = False
    ) -> None:
        so_far = self._spent.get((some.stage, fingerprint), Spent(False, 0.0, 0))
        self._spent[some.stage, fingerprint] = Spent(
            so_far.finished or finished,
            so_far.seconds + some.seconds,
            so_far.trials + some.trials,
        )


def _current(strategy: str, revision: int, revisions: Mapping[str, int]) -> bool:
    return revisions.get(strategy_of(strategy)) == revision


def _comparable(series: Iterable[Series], query: Query) -> list[Series]:
    return [
        each
        for each in series
        if each.head.constants == query.conditions.constants
        if each.head.fingerprint == query.fingerprint
        if _current(each.head.strategy, each.head.revision, query.revisions)
    ]


def _joined(series: Iterable[Series], query: Query) -> list[Series]:
    """Those of one task and alternative as one, whatever the alternative was called."""
    same: dict[tuple[Task, str], list[Series]] = {}
    for each in series:
        name = present_name(each.head.strategy, query.revisions)
        same.setdefault((each.head.task, name), []).append(each)
    return [Series.joined(found) for found in same.values()]


@contextmanager
def _no_collection() -> Iterator[None]:
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
