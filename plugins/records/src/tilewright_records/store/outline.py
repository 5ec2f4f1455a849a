"""What queries need of a trial's line, without making its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from tilewright.canonical import canonical_json
from tilewright.json_object import BadLineError, parse_object
from tilewright.vocabulary.measure import MeasureResult
from tilewright.vocabulary.record import BudgetRecord, Charge, GraphRecord, Record
from tilewright.vocabulary.task import Task
from tilewright_records.decoding import RecordDecoder
from tilewright_records.line import sealed

# The lines that `record_json` makes, which every store writes.
_START = b'{"version":1,"kind":"trial","sequence":'
_HEAD = {"device", "key", "workload", "target", "strategy", "revision"}
_CONFIG, _CONDITIONS = b',"config":', b',"conditions":'
_OUTCOMES = ({"costs", "timings"}, {"failure", "timings"})
_CHARGE = {"budget"}


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """What many trials have in common; a reader makes one object of equal ones.

    constants   of their conditions
    """

    task: Task
    device: str
    fingerprint: str
    strategy: str
    revision: int
    constants: str


class Outline(NamedTuple):
    """One trial.

    identity   equal for equal values of knobs, whatever their order
    seconds    median of the samples, None for a failure
    in_turns   whether it was run in several turns
    spoiled    failed, and not by the config's fault
    charge     as in a `Record`
    """

    head: Head
    sequence: int
    identity: int
    seconds: float | None
    in_turns: bool
    spoiled: bool
    charge: Charge | None


class OutlineReader:
    """Reads lines in half the time that their records take.

    Two thirds of a trial's line repeat an earlier one: what stands in front of its config, and its
    conditions. They are looked up; config and outcome are parsed, each by itself. Any other line is
    read whole.
    """

    def __init__(self) -> None:
        self.decoder = RecordDecoder()
        self._heads: dict[tuple[bytes, bytes], tuple[Head, bool]] = {}
        self._same: dict[tuple[Any, ...], Head] = {}

    def read(self, line: bytes) -> Outline | GraphRecord | BudgetRecord:
        """A trial's outline, or a record of another kind. Raises BadLineError as `decode` does."""
        body = sealed(line)
        start, _, rest = body.partition(_CONFIG)
        config, _, rest = rest.partition(_CONDITIONS)
        conditions, _, outcome = rest.partition(b"},")
        number, _, members = start.removeprefix(_START).partition(b",")
        known = self._heads.get((members, conditions))
        if known is not None and _is_number(number):
            measured = parse_object(b"{%b}" % outcome)
            if measured.keys() - _CHARGE in _OUTCOMES:
                said = self.decoder.result(measured), self.decoder.charge(measured)
                return _outline(known, int(number), parse_object(config), *said)
        data = parse_object(body + b"}")
        record = self.decoder.decode(data)
        if not isinstance(record, Record):
            return record
        known = self._head(record), record.trial.input.conditions.turns > 1
        if _is_whole(members, conditions, data):
            self._heads[members, conditions] = known
        said = record.trial.result, record.charge
        return _outline(known, record.sequence, data["config"], *said)

    def _head(self, record: Record) -> Head:
        values = (
            record.task,
            record.device,
            record.fingerprint,
            record.config.strategy,
            record.revision,
            record.trial.input.conditions.constants,
        )
        return self._same.setdefault(values, Head(*values))


def _is_number(text: bytes) -> bool:
    """Whether JSON and `int` agree that it is a sequence number."""
    return text.isdigit() and len(text) <= 15 and (text[:1] != b"0" or text == b"0")


def _is_whole(members: bytes, conditions: bytes, data: Mapping[str, Any]) -> bool:
    """Whether the texts are JSON by themselves and say what the line says as a whole."""
    try:
        head = parse_object(b"{%b}" % members)
        return (
            head.keys() == _HEAD
            and all(data[name] == value for name, value in head.items())
            and parse_object(conditions + b"}") == data["conditions"]
        )
    except BadLineError:
        return False


def _outline(
    known: tuple[Head, bool],
    sequence: int,
    values: Mapping[str, Any],
    result: MeasureResult,
    charge: Charge | None,
) -> Outline:
    (head, in_turns), identity = known, _identity(values)
    return Outline(head, sequence, identity, result.seconds, in_turns, result.spoiled, charge)


def _identity(values: Mapping[str, Any]) -> int:
    text = repr(sorted(values.items()))
    # Python's text is made in half the time, and as good where no object is among the values.
    return hash(canonical_json(values) if "{" in text else text)
