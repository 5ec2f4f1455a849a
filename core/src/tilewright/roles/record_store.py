"""The role of record stores: the history of measurements, and what counts of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.device import Device
    from tilewright.vocabulary.measure import Failure, Trial
    from tilewright.vocabulary.record import AnyRecord, GraphRecord, Query, Record
    from tilewright.vocabulary.target import Target
    from tilewright.vocabulary.task import Task
    from tilewright.vocabulary.workload import Workload


class Spent(NamedTuple):
    """What a stage spent over all its runs, and whether it is finished."""

    finished: bool
    seconds: float
    trials: int


class Ranked(NamedTuple):
    """A config's last record, and the seconds that the config is taken to need.

    They are the record's own, with one exception. Finalists are measured again, in turns, and
    often turn out slower than they had seemed. A config that had lost to them is taken to slow down
    as they did (as the one that did least): it would lead only for want of a second measurement.
    """

    record: Record
    seconds: float


class Count(NamedTuple):
    """Trials, and how many of them failed."""

    trials: int
    failures: int


class RecordStore(Protocol):
    """Append-only records that a run, and equal runs after it, ask for what they know.

    A `Query` says which records count; `revisions`, where they are asked for alone, mean what they
    mean there (`stale` counts the misses). Of a config measured more than once the last measurement
    counts.

    path            of the file, or what stands for it in messages
    bad_lines       what is there and is no record
    other_versions  of a later format, left alone
    """

    path: Path
    bad_lines: int
    other_versions: int

    def append(self, records: Iterable[AnyRecord]) -> None:
        """Keep records, all or none, in order; each gets the next sequence number."""

    def refresh(self) -> None:
        """Read what other processes have appended."""

    def records(self, task_key: str | None = None) -> Sequence[Record]:
        """Every trial's record in order, of one task or of all."""

    def tasks(self) -> list[Task]:
        """Every task that has a trial, in order of its first."""

    def trials(
        self,
        device_fingerprint: str,
        revisions: Mapping[str, int],
        operators: Collection[str] | None = None,
    ) -> list[Trial]:
        """Trials that count on a device, of these operators or of all.

        Failures are among them; the oldest come first.
        """

    def count(self, query: Query) -> Count:
        """How many trials of a task count, spoiled ones among them."""

    def ranked(self, query: Query) -> Iterator[Ranked]:
        """The configs of a task that have a time, fastest first; finalists before others."""

    def best(self, query: Query) -> Record | None:
        """The record of the fastest config, None where there is none; see `ranked`."""

    def best_of_anchor(self, query: Query) -> Record | None:
        """The best record of the other tasks that differ in their epilogue only; see `ranked`."""

    def failed(self, query: Query) -> dict[ConfigEntity, Failure]:
        """The configs of a task whose last measurement failed, and how, oldest first."""

    def of_other_systems(
        self, workload: Workload, revisions: Mapping[str, int]
    ) -> Sequence[Record]:
        """The records of a workload's anchor, on any target, by strategies not installed here."""

    def graph_choices(
        self, device_fingerprint: str, revisions: Mapping[str, int]
    ) -> dict[str, GraphRecord]:
        """The last choice for each node."""

    def spent(self, stage: str, device: Device) -> Spent:
        """What the stage of this hash has spent on a device so far, were it killed or not."""

    def stale(self, revisions: Mapping[str, int]) -> Counter[str]:
        """By strategy, how many records are misses because another revision is installed."""

    def targets(self, revisions: Mapping[str, int]) -> Counter[Target]:
        """How many trials by these strategies each target has."""

    def devices(self, revisions: Mapping[str, int] | None = None) -> Counter[tuple[str, str]]:
        """How many trials each device has, by (name, fingerprint); only by these strategies."""


@runtime_checkable
class TakesRecords(Protocol):
    """A record store that also answers from records of others, such as those of packs.

    Without it, packs are passed over.
    """

    def take_records(self, packs: Mapping[str, Sequence[bytes]]) -> None:
        """Count lines of records files as if they stood before all of the store's own.

        Records made of them say which of the packs they are from. They are never written, and
        nothing is charged to a stage for them. Bad lines are skipped.
        """
