"""Makes records of what the lines of a records file say, and refuses what makes no sense."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from tilewright.json_object import BadLineError, UnknownLineError, sensible
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.measure import (
    Conditions,
    Failure,
    FailureKind,
    MeasureInput,
    MeasureResult,
    Trial,
)
from tilewright.vocabulary.record import (
    AnyRecord,
    BudgetRecord,
    Charge,
    ErrorBound,
    GraphRecord,
    Record,
    WonInNetwork,
)
from tilewright.vocabulary.task import Task
from tilewright_records.encoding import VERSION

MAX_SAMPLES = 10_000
MIN_SECONDS, MAX_SECONDS = 1e-12, 1e9
MAX_ERROR = 1e9


class OtherVersionError(UnknownLineError):
    """A line of a version or kind that this release does not know."""


class RecordDecoder:
    """Makes records of JSON objects; equal tasks become one object, and so do conditions."""

    def __init__(self) -> None:
        self._tasks: dict[tuple[str, str], tuple[Any, Task]] = {}
        self._conditions: dict[tuple[Any, ...], Conditions] = {}

    def decode(self, data: Mapping[str, Any]) -> AnyRecord:
        """The record. Raises OtherVersionError for a later format, BadLineError for nonsense."""
        record: AnyRecord = sensible(self._decode, data)
        return record

    def result(self, data: Mapping[str, Any]) -> MeasureResult:
        """The outcome that a trial's object holds. Raises BadLineError for nonsense."""
        result: MeasureResult = sensible(_result, data)
        return result

    def charge(self, data: Mapping[str, Any]) -> Charge | None:
        """What a trial's object says of a budget. Raises BadLineError for nonsense."""
        charge: Charge | None = sensible(_charge, data)
        return charge

    def _decode(self, data: Mapping[str, Any]) -> AnyRecord:
        if data["version"] != VERSION or isinstance(data["version"], bool):
            raise OtherVersionError(f"version {data['version']!r}"[:80])
        make = self._makers.get(data["kind"])
        if make is None:
            raise OtherVersionError(f"kind {data['kind']!r}"[:80])
        record: AnyRecord = make(self, data)
        return record

    def _record(self, data: Mapping[str, Any]) -> Record:
        conditions = self._condition(data["conditions"])
        asked = MeasureInput(self._task(data), _config(data), conditions)
        trial = Trial(asked, _result(data))
        return Record(trial, *_device(data), *_numbers(data), charge=self.charge(data))

    def _graph(self, data: Mapping[str, Any]) -> GraphRecord:
        node = _text(data["node"])
        made_of = (node, self._task(data), _config(data), *_device(data), *_numbers(data))
        return GraphRecord(*made_of, bound=_bound(data), won=_won(data))

    def _budget(self, data: Mapping[str, Any]) -> BudgetRecord:
        if not isinstance(data["finished"], bool):
            raise BadLineError("finished is no truth value")
        return BudgetRecord(
            _text(data["stage"]),
            *_device(data),
            data["finished"],
            _check(data["seconds"], (int, float), 0, MAX_SECONDS),
            _check(data["trials"], int, 0, 2**53),
            _check(data["sequence"], int, 0, 2**53),
        )

    _makers: ClassVar[Mapping[str, Any]] = {
        Record.kind: _record,
        GraphRecord.kind: _graph,
        BudgetRecord.kind: _budget,
    }

    def _task(self, data: Mapping[str, Any]) -> Task:
        name = (data["key"], data["target"])
        known = self._tasks.get(name)
        if known is None or known[0] != data["workload"]:
            task = Task.from_json(data)
            for extent in (n for spec in task.workload.inputs for n in spec.shape):
                _check(extent, int, 0, 2**53)
            if (task.workload.key, str(task.target)) != name:
                raise BadLineError("the key is not that of the workload and target")
            known = self._tasks[name] = (data["workload"], task)
        return known[1]

    def _condition(self, data: Mapping[str, Any]) -> Conditions:
        values = tuple(data.items())
        known = self._conditions.get(values)
        if known is None:
            for count in (data["number"], data["repeat"], data.get("turns", 1)):
                _check(count, int, 1, 2**53)
            for name in ("min_repeat_ms", "cooldown_interval"):
                _check(data[name], (int, float), 0, MAX_SECONDS)
            known = self._conditions[values] = Conditions.from_json(data)
        return known


def _config(data: Mapping[str, Any]) -> ConfigEntity:
    if not isinstance(data["config"], dict):
        raise BadLineError("config is no object")
    return ConfigEntity(_text(data["strategy"]), data["config"])


def _result(data: Mapping[str, Any]) -> MeasureResult:
    if ("costs" in data) == ("failure" in data):
        raise BadLineError("expected costs or a failure")
    timings = data["timings"]
    for seconds in timings.values():
        _check(seconds, (int, float), 0, MAX_SECONDS)
    if "costs" in data:
        return MeasureResult(_costs(data["costs"]), timings=timings)
    return MeasureResult(failure=_failure(data["failure"]), timings=timings)


def _charge(data: Mapping[str, Any]) -> Charge | None:
    if "budget" not in data:
        return None
    said = data["budget"]
    return Charge(
        _text(said["stage"]),
        _check(said["seconds"], (int, float), 0, MAX_SECONDS),
        _check(said["trials"], int, 0, 1),
    )


def _bound(data: Mapping[str, Any]) -> ErrorBound | None:
    if "bound" not in data:
        return None
    said = data["bound"]
    alone = said["alone"]
    for error in alone.values():
        _check(error, (int, float), 0, MAX_ERROR)
    return ErrorBound(_check(said["most"], (int, float), 0, MAX_ERROR), alone)


def _won(data: Mapping[str, Any]) -> WonInNetwork | None:
    if "won" not in data:
        return None
    said = data["won"]
    return WonInNetwork(_text(said["network"]), _text(said["node"]), _config(said["over"]))


def _device(data: Mapping[str, Any]) -> tuple[str, str]:
    return _text(data["device"]["name"]), _text(data["device"]["fingerprint"])


def _numbers(data: Mapping[str, Any]) -> tuple[int, int]:
    return _check(data["revision"], int, 0, 2**53), _check(data["sequence"], int, 0, 2**53)


def _costs(costs: Any) -> tuple[float, ...]:
    if not isinstance(costs, list) or not 0 < len(costs) <= MAX_SAMPLES:
        raise BadLineError(f"costs are not 1 to {MAX_SAMPLES} samples")
    for seconds in costs:
        if type(seconds) not in (float, int) or not MIN_SECONDS <= seconds <= MAX_SECONDS:
            raise BadLineError(f"a cost of {seconds!r}"[:80])
    return tuple(costs)


def _failure(data: Mapping[str, Any]) -> Failure:
    return Failure(FailureKind(data["kind"]), _text(data["text"]), _text(data["signal"]))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise BadLineError(f"expected a text, got {type(value).__name__}")
    return value


def _check(value: Any, types: Any, least: float, greatest: float) -> Any:
    """The number itself; truth values are none."""
    if isinstance(value, bool) or not isinstance(value, types) or not least <= value <= greatest:
        raise BadLineError(f"expected a number from {least} to {greatest:g}, got {value!r}"[:120])
    return value
