"""Makes a records file smaller; queries for configs and what a stage spent answer the same."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tilewright.errors import UsageError
from tilewright.json_object import BadLineError
from tilewright.vocabulary.record import AnyRecord, BudgetRecord, Charge, GraphRecord, Record
from tilewright_records.decoding import OtherVersionError, RecordDecoder
from tilewright_records.encoding import record_json
from tilewright_records.line import seal, unseal
from tilewright_records.store.log_file import LogFile


@dataclass(frozen=True, slots=True)
class Compacted:
    """The result of compacting a file.

    lost   number of dropped lines by kind: no query asks for them
    """

    lines: int
    lost: Mapping[str, int]
    bytes_before: int
    bytes_after: int

    def to_json(self) -> dict[str, Any]:
        return {
            "lines": self.lines,
            "lost": dict(self.lost),
            "bytes_before": self.bytes_before,
            "bytes_after": self.bytes_after,
        }


def compact_log(path: Path) -> Compacted:
    """Replace a records file of our own by what is needed of it, under its lock, atomically.

    Kept: of every config the last measurement, by task, device, conditions and revision; those in
    turns, and the one before each; of every node the last choice, likewise; of every stage what it
    spent in all; lines of a later format. The order and the sequence numbers stay. Other processes
    may read and append meanwhile. Raises UsageError for what the file system refuses.
    """
    lost: dict[str, int] = {}
    sizes = [0, 0]
    kept: list[bytes] = []

    def shorten(lines: Sequence[bytes]) -> Sequence[bytes]:
        kept[:] = _needed(lines, lost)
        if not kept and any(lines):
            raise UsageError(
                "no line of it is a record", where=str(path), remedy="name a records file"
            )
        sizes[:] = len(b"\n".join(lines)), sum(map(len, kept))
        return kept

    LogFile(path).rewrite(shorten)
    return Compacted(len(kept), lost, *sizes)


def _needed(lines: Sequence[bytes], lost: dict[str, int]) -> Iterator[bytes]:
    decoder = RecordDecoder()
    found: list[tuple[bytes, Hashable]] = []
    charged: dict[int, BudgetRecord] = {}  # by place in `found`
    last: dict[Hashable, int] = {}
    before_turns: set[int] = set()
    spent: dict[Hashable, BudgetRecord] = {}

    def lose(what: str) -> None:
        lost[what] = lost.get(what, 0) + 1

    def spend(some: BudgetRecord) -> None:
        identity = identity_of(some)
        spent[identity] = added(spent.get(identity), some)

    for line in filter(None, lines):
        try:
            record = decoder.decode(unseal(line))
        except OtherVersionError:
            found.append((line, None))
            continue
        except BadLineError:
            lose("bad lines")
            continue
        if isinstance(record, Record) and record.trial.result.spoiled:
            lose("trials spoiled by the machinery")
            if record.charge is not None:
                spend(budget_of(record, record.charge))
            continue
        identity = identity_of(record)
        if isinstance(record, BudgetRecord):
            spend(record)
        elif isinstance(record, Record) and record.charge is not None:
            charged[len(found)] = budget_of(record, record.charge)
        place = last.get(identity)
        if isinstance(record, Record) and record.trial.input.conditions.turns > 1:
            if place is not None:
                before_turns.add(place)
            found.append((line, None))
            continue
        if place is not None and place not in before_turns:
            lose(_SUPERSEDED[record.kind])
        last[identity] = len(found)
        found.append((line, identity))
    kept = [
        identity is None or last[identity] == place or place in before_turns
        for place, (_, identity) in enumerate(found)
    ]
    for place, budget in charged.items():
        if not kept[place]:
            spend(budget)
    for (line, identity), needed in zip(found, kept, strict=True):
        if needed:
            own = spent.pop(identity, None)
            yield line + b"\n" if own is None else seal(record_json(own))
    yield from (seal(record_json(of_killed)) for of_killed in spent.values())


_SUPERSEDED = {
    Record.kind: "trials measured again later",
    GraphRecord.kind: "choices made anew later",
    BudgetRecord.kind: "budgets added up",
}


def identity_of(record: AnyRecord) -> Hashable:
    """Of records with equal identities the last one counts."""
    if isinstance(record, BudgetRecord):
        return record.kind, record.fingerprint, record.stage
    if isinstance(record, GraphRecord):
        return (
            record.kind,
            record.fingerprint,
            record.node,
            record.config.strategy,
            record.revision,
        )
    constants = record.trial.input.conditions.constants
    return record.fingerprint, record.task.key, constants, record.config.text, record.revision


def budget_of(record: Record, charge: Charge) -> BudgetRecord:
    """What a trial took of its stage's budget, without the trial."""
    return BudgetRecord(
        charge.stage,
        record.device,
        record.fingerprint,
        finished=False,
        seconds=charge.seconds,
        trials=charge.trials,
        sequence=record.sequence,
    )


def added(before: BudgetRecord | None, record: BudgetRecord) -> BudgetRecord:
    """What both say that one stage spent, in one record."""
    if before is None:
        return record
    return replace(
        max(before, record, key=lambda one: one.sequence),
        finished=before.finished or record.finished,
        seconds=before.seconds + record.seconds,
        trials=before.trials + record.trials,
    )
