"""The trials of a log: what queries compare as columns of numbers, the rest as lines."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from operator import itemgetter
from typing import overload

from tilewright.vocabulary.race import Race, Standings
from tilewright.vocabulary.record import Record
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.workload import Workload
from tilewright_records.decoding import RecordDecoder
from tilewright_records.line import unseal
from tilewright_records.store.outline import Head, Outline


class Series:
    """The trials of one head, oldest first."""

    def __init__(self, head: Head, of_task: OfTask) -> None:
        self.head = head
        self._of_task = of_task
        self.trials = 0
        self.failures = 0
        self._rows = array("q")
        self._identities = array("q")
        self._seconds = array("d")
        self._raced: dict[int, tuple[int, float]] = {}  # by row: identity, time before

    def add(self, row: int, outline: Outline) -> None:
        """Add the trial of a row; a spoiled one is counted, but has no time."""
        self._of_task.rows.append(row)
        self.trials += 1
        self.failures += outline.seconds is None
        if not outline.spoiled:
            seconds = inf if outline.seconds is None else outline.seconds
            raced = outline.in_turns and outline.seconds is not None
            self._measured(row, outline.identity, seconds, raced)

    @classmethod
    def joined(cls, series: Sequence[Series]) -> Series:
        """The measurements of all of them, in order of the log, as of one: to be ranked."""
        if len(series) == 1:
            return series[0]
        rows = [
            (row, identity, seconds, row in one._raced)
            for one in series
            for row, identity, seconds in zip(one._rows, one._identities, one._seconds, strict=True)
        ]
        whole = cls(series[-1].head, series[-1]._of_task)
        for row in sorted(rows):
            whole._measured(*row)
        return whole

    def last(self) -> Iterable[tuple[float, int]]:
        """(seconds, row) of every config's last measurement, infinity for a failure."""
        return self._last().values()

    def races(self) -> dict[int, Race]:
        """By row, the trials in turns of configs that have a time now."""
        return Standings(self._last(), self._raced).races() if self._raced else {}

    def _measured(self, row: int, identity: int, seconds: float, raced: bool) -> None:
        if raced:
            self._raced[row] = identity, self._known(identity)
        self._rows.append(row)
        self._identities.append(identity)
        self._seconds.append(seconds)

    def _last(self) -> dict[int, tuple[float, int]]:
        measured = zip(self._seconds, self._rows, strict=True)
        return dict(zip(self._identities, measured, strict=True))

    def _known(self, identity: int) -> float:
        """The last time of a config that was not measured in turns, infinity where that is none."""
        try:
            place = len(self._rows) - 1 - self._identities[::-1].index(identity)
        except ValueError:
            return inf
        return inf if self._rows[place] in self._raced else self._seconds[place]


@dataclass(frozen=True, slots=True)
class OfTask:
    """A task's rows in the log and its series."""

    task: Task
    rows: array[int] = field(default_factory=lambda: array("q"))
    series: list[Series] = field(default_factory=list)


class TrialIndex:
    """Rows are numbered in order of the log.

    A record as objects takes four times its line's memory, and longer to make than a query may
    take; so it is made when it is asked for.
    """

    def __init__(self, decoder: RecordDecoder) -> None:
        self._decoder = decoder
        self._lines: list[bytes] = []
        self._packs: list[tuple[int, str]] = []  # from which row on; rows of a pack are in a row
        self._of_row: list[Series] = []
        self._series: dict[Head, Series] = {}
        self._by_task: dict[str, OfTask] = {}
        self._by_anchor: dict[str, list[OfTask]] = {}

    def add(self, line: bytes, outline: Outline, pack: str) -> None:
        """Take in the next row, which is of a pack, or of the store's own where that is empty."""
        series = self._series.get(outline.head) or self._add_series(outline.head)
        row = len(self._lines)
        self._lines.append(line)
        if pack != (self._packs[-1][1] if self._packs else ""):
            self._packs.append((row, pack))
        self._of_row.append(series)
        series.add(row, outline)

    def _add_series(self, head: Head) -> Series:
        own = self._by_task.get(head.task.key)
        if own is None:
            own = self._by_task[head.task.key] = OfTask(head.task)
            self._by_anchor.setdefault(head.task.workload.anchor_key, []).append(own)
        series = self._series[head] = Series(head, own)
        own.series.append(series)
        return series

    @property
    def series(self) -> Iterable[Series]:
        """All series, in order of their first trial."""
        return self._series.values()

    def tasks(self) -> list[Task]:
        """Every task once, in order of its first trial."""
        return [own.task for own in self._by_task.values()]

    def records(self, task_key: str | None = None) -> Records:
        """Every trial's record, of one task or of all."""
        if task_key is None:
            return Records(self, range(len(self._lines)))
        own = self._by_task.get(task_key)
        return Records(self, own.rows[:] if own else ())

    def record(self, row: int) -> Record:
        """The record of a row."""
        record = self._decoder.decode(unseal(self._lines[row]))
        assert isinstance(record, Record)
        place = bisect_right(self._packs, row, key=itemgetter(0))
        return replace(record, pack=self._packs[place - 1][1]) if place else record

    def rows(self, wanted: Iterable[Series], task_key: str | None = None) -> list[int]:
        """The rows of these series, oldest first, of one task or of all."""
        chosen = {id(series) for series in wanted}
        if task_key is None:
            return [row for row, own in enumerate(self._of_row) if id(own) in chosen]
        task = self._by_task.get(task_key)
        return [row for row in task.rows if id(self._of_row[row]) in chosen] if task else []

    def of_task(self, task: Task) -> Iterable[Series]:
        """The series of a task."""
        own = self._by_task.get(task.key)
        return own.series if own else ()

    def of_anchor(self, workload: Workload) -> Iterator[Series]:
        """The series of the tasks, on any target, that differ at most in their epilogue."""
        for own in self._by_anchor.get(workload.anchor_key, ()):
            yield from own.series


class Records(Sequence[Record]):
    """Records in order of the log, each decoded when it is read."""

    def __init__(self, index: TrialIndex, rows: Sequence[int]) -> None:
        self._index = index
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> Record: ...

    @overload
    def __getitem__(self, place: slice) -> Records: ...

    def __getitem__(self, place: int | slice) -> Record | Records:
        rows = self._rows[place]
        return self._index.record(rows) if isinstance(rows, int) else Records(self._index, rows)
