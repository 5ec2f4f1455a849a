"""The record store: a JSON-lines file, indexed in memory by task."""

from __future__ import annotations

import gc
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from tilewright.config import ConfigEntity
from tilewright.device import Device
from tilewright.measure import Conditions, Failure, Trial
from tilewright.records.line import BadLineError, seal, unseal
from tilewright.records.log_file import LogFile
from tilewright.records.record import (
    AnyRecord,
    BudgetRecord,
    GraphRecord,
    OtherVersionError,
    Record,
    RecordDecoder,
)
from tilewright.task import Task

K = TypeVar("K", bound=Hashable)


class Spent(NamedTuple):
    """What a stage has spent over all its runs, and whether one of them finished it."""

    finished: bool
    seconds: float
    trials: int


class JsonlRecordStore:
    """Append-only records in one file that any number of processes share.

    >>> store = JsonlRecordStore(Path("records.jsonl"))     # reads what is there; creates nothing
    >>> store.append([Record.of(trial, device, revision)])  # on the disk when it returns
    >>> store.refresh()                                     # what other processes appended since

    Queries take `revisions`, strategy name to installed revision: a record of another revision, or
    of a strategy that is not in it, is a miss (`stale` counts them). Records of another device are
    used only where `foreign_devices` says so. Bad lines are skipped and counted in `bad_lines`,
    lines of a later format in `other_versions`; reading never fails for what a file holds. Raises
    UsageError for what the file system refuses.
    """

    def __init__(self, path: Path, *, create_parents: bool = False) -> None:
        self.path = Path(path)
        self._file = LogFile(self.path, create_parents=create_parents)
        self._lock = threading.RLock()
        self._clear()
        self.refresh()

    def append(self, records: Iterable[AnyRecord]) -> None:
        """Write records, all or none, in order; each gets the next sequence number."""
        records = list(records)

        def lines() -> Sequence[bytes]:
            numbered = enumerate(records, self._next_sequence)
            return [seal(replace(record, sequence=n).to_json()) for n, record in numbered]

        with self._lock:
            self._file.append(lines, self._see, self._clear)

    def refresh(self) -> None:
        """Read what was appended since the last look."""
        # Tens of thousands of objects, none of them garbage: collecting costs a third of the time.
        with self._lock, _no_collection():
            self._see(self._file.read_new(self._clear))

    def records(self, task_key: str | None = None) -> Sequence[Record]:
        """Every trial's record in order of the file, of one task or of all."""
        return self._records if task_key is None else self._by_task.get(task_key, [])

    def trials(
        self,
        device_fingerprint: str,
        revisions: Mapping[str, int],
        task_key: str | None = None,
        *,
        foreign_devices: bool = False,
    ) -> list[Trial]:
        """Trials that count on a device, failures included, oldest first."""
        return [
            record.trial
            for record in self.records(task_key)
            if foreign_devices or record.fingerprint == device_fingerprint
            if _current(record, revisions)
        ]

    def best(
        self,
        task: Task,
        conditions: Conditions,
        device_fingerprint: str,
        revisions: Mapping[str, int],
        *,
        foreign_devices: bool = False,
        where: Callable[[ConfigEntity], bool] | None = None,
    ) -> Record | None:
        """The record with the smallest median among equal conditions, None where there is none.

        Conditions are equal where `constants` is; number and repeat may differ. Of a config
        measured more than once the last measurement counts: finalists are measured again because
        their first time was lucky. `where` narrows the configs.
        """
        own = self.records(task.key)
        found = _timed(
            own,
            conditions,
            device_fingerprint=device_fingerprint,
            revisions=revisions,
            foreign_devices=foreign_devices,
            where=where,
        )
        return min(found, key=_seconds, default=None)

    def best_of_anchor(
        self,
        task: Task,
        conditions: Conditions,
        device_fingerprint: str,
        revisions: Mapping[str, int],
        *,
        foreign_devices: bool = False,
        where: Callable[[ConfigEntity], bool] | None = None,
    ) -> Record | None:
        """The best record of the tasks that differ at most in their epilogue; see `best`.

        Of their times only the order means something for this task.
        """
        kin = [r for key in self._kin.get(_anchor(task), ()) for r in self._by_task[key]]
        found = _timed(
            kin,
            conditions,
            device_fingerprint=device_fingerprint,
            revisions=revisions,
            foreign_devices=foreign_devices,
            where=where,
        )
        return min(found, key=_seconds, default=None)

    def best_per(
        self,
        key: Callable[[ConfigEntity], K],
        task: Task,
        conditions: Conditions,
        device_fingerprint: str,
        revisions: Mapping[str, int],
        *,
        foreign_devices: bool = False,
        where: Callable[[ConfigEntity], bool] | None = None,
    ) -> dict[K, Record]:
        """The best record of each group that `key` makes of the configs; see `best`."""
        groups: dict[K, Record] = {}
        own = self.records(task.key)
        for record in _timed(
            own,
            conditions,
            device_fingerprint=device_fingerprint,
            revisions=revisions,
            foreign_devices=foreign_devices,
            where=where,
        ):
            group = key(record.config)
            if group not in groups or _seconds(record) < _seconds(groups[group]):
                groups[group] = record
        return groups

    def failed(
        self,
        task: Task,
        conditions: Conditions,
        device_fingerprint: str,
        revisions: Mapping[str, int],
    ) -> dict[ConfigEntity, Failure]:
        """The configs of a task whose last measurement failed, and how; see `best`."""
        last = _last(
            self.records(task.key),
            conditions,
            device_fingerprint=device_fingerprint,
            revisions=revisions,
        )
        failures = {record.config: record.trial.result.failure for record in last}
        return {config: failure for config, failure in failures.items() if failure is not None}

    def graph_choices(
        self,
        device_fingerprint: str,
        revisions: Mapping[str, int],
        *,
        foreign_devices: bool = False,
    ) -> dict[str, GraphRecord]:
        """The last choice for each node."""
        return {
            record.node: record
            for record in self._graph
            if foreign_devices or record.fingerprint == device_fingerprint
            if _current(record, revisions)
        }

    def spent(self, stage: str, device: Device) -> Spent:
        """What the stage of this hash has spent on a device so far."""
        own = [r for r in self._budget if (r.stage, r.fingerprint) == (stage, device.fingerprint)]
        return Spent(
            any(record.finished for record in own),
            sum(record.seconds for record in own),
            sum(record.trials for record in own),
        )

    def stale(self, revisions: Mapping[str, int]) -> Counter[str]:
        """By strategy, how many records are misses because another revision is installed."""
        misses: Counter[str] = Counter()
        for (strategy, revision), count in self._revisions.items():
            if revisions.get(strategy, revision) != revision:
                misses[strategy] += count
        return misses

    def devices(self) -> Counter[tuple[str, str]]:
        """How many trials each device has, by (name, fingerprint)."""
        return Counter((record.device, record.fingerprint) for record in self._records)

    def _clear(self) -> None:
        self.bad_lines = 0
        self.other_versions = 0
        self._next_sequence = 0
        self._records: list[Record] = []
        self._by_task: dict[str, list[Record]] = {}
        self._kin: dict[str, list[str]] = {}
        self._graph: list[GraphRecord] = []
        self._budget: list[BudgetRecord] = []
        self._revisions: Counter[tuple[str, int]] = Counter()
        self._decoder = RecordDecoder()

    def _see(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            try:
                record = self._decoder.decode(unseal(line))
            except OtherVersionError:
                self.other_versions += 1
            except BadLineError:
                self.bad_lines += bool(line)
            else:
                self._add(record)

    def _add(self, record: AnyRecord) -> None:
        self._next_sequence = max(self._next_sequence, record.sequence + 1)
        if isinstance(record, Record):
            self._records.append(record)
            own = self._by_task.get(record.task.key)
            if own is None:
                own = self._by_task[record.task.key] = []
                self._kin.setdefault(_anchor(record.task), []).append(record.task.key)
            own.append(record)
            self._revisions[_strategy(record), record.revision] += 1
        elif isinstance(record, GraphRecord):
            self._graph.append(record)
            self._revisions[_strategy(record), record.revision] += 1
        else:
            self._budget.append(record)


def _strategy(record: Record | GraphRecord) -> str:
    return record.config.strategy.partition("/")[0]


def _current(record: Record | GraphRecord, revisions: Mapping[str, int]) -> bool:
    return revisions.get(_strategy(record)) == record.revision


def _seconds(record: Record) -> float:
    assert record.seconds is not None
    return record.seconds


@contextmanager
def _no_collection() -> Iterator[None]:
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _anchor(task: Task) -> str:
    return f"{task.workload.anchor_key}@{task.target}"


def _timed(
    records: Iterable[Record],
    conditions: Conditions,
    *,
    device_fingerprint: str,
    revisions: Mapping[str, int],
    foreign_devices: bool,
    where: Callable[[ConfigEntity], bool] | None,
) -> Iterator[Record]:
    """Of each config the last measurement that counts, where it has a time."""
    for record in _last(
        records,
        conditions,
        device_fingerprint=device_fingerprint,
        revisions=revisions,
        foreign_devices=foreign_devices,
    ):
        if record.seconds is not None and (where is None or where(record.config)):
            yield record


def _last(
    records: Iterable[Record],
    conditions: Conditions,
    *,
    device_fingerprint: str,
    revisions: Mapping[str, int],
    foreign_devices: bool = False,
) -> Iterable[Record]:
    """Of each config the last measurement that counts; what the machinery spoiled does not."""
    last: dict[tuple[str, str, ConfigEntity], Record] = {}
    for record in records:
        asked, failure = record.trial.input, record.trial.result.failure
        if (
            asked.conditions.constants == conditions.constants
            and (foreign_devices or record.fingerprint == device_fingerprint)
            and _current(record, revisions)
            and not (failure is not None and failure.kind.retried)
        ):
            last[record.fingerprint, record.task.key, asked.config] = record
    return last.values()
