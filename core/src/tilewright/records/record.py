"""What a line of a records file says. Member names are promises to other people's files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from tilewright.canonical import thaw
from tilewright.config import ConfigEntity
from tilewright.device import Device
from tilewright.errors import UsageError
from tilewright.measure import Conditions, Failure, FailureKind, MeasureInput, MeasureResult, Trial
from tilewright.records.line import BadLineError
from tilewright.task import Task

VERSION = 1
MAX_SAMPLES = 10_000
MIN_SECONDS, MAX_SECONDS = 1e-12, 1e9


@dataclass(frozen=True, slots=True)
class Charge:
    """What a trial took of the budget of the stage that asked for it.

    stage     hash of all that makes two stages equal, as in `BudgetRecord`
    seconds   since the stage began, or since its trial before
    trials    1, and 0 for what was measured once more
    """

    stage: str
    seconds: float
    trials: int

    def to_json(self) -> dict[str, Any]:
        return {"stage": self.stage, "seconds": self.seconds, "trials": self.trials}


@dataclass(frozen=True, slots=True)
class Record:
    """One trial, where it was measured, and by which revision of its strategy.

    revision   of the strategy when it was measured; with another installed, the record is a miss
    sequence   place in the order of measurement, given by the store that appends it
    charge     None where no stage has a budget for it
    """

    kind: ClassVar[str] = "trial"

    trial: Trial
    device: str
    fingerprint: str
    revision: int
    sequence: int = 0
    charge: Charge | None = None

    @classmethod
    def of(
        cls, trial: Trial, device: Device, revision: int, charge: Charge | None = None
    ) -> Record:
        """The record of a trial just measured on a device."""
        return cls(trial, device.name, device.fingerprint, revision, charge=charge)

    @property
    def task(self) -> Task:
        return self.trial.input.task

    @property
    def config(self) -> ConfigEntity:
        return self.trial.input.config

    @property
    def seconds(self) -> float | None:
        """Median of the samples, None for a failure."""
        return self.trial.result.seconds

    def to_json(self) -> dict[str, Any]:
        result = self.trial.result
        outcome: dict[str, Any] = (
            {"costs": list(result.costs)}
            if result.failure is None
            else {"failure": result.failure.to_json()}
        )
        return {
            **_head(self.kind, self.sequence, self.device, self.fingerprint),
            **_choice(self.task, self.config, self.revision),
            "conditions": self.trial.input.conditions.to_json(),
            **outcome,
            "timings": dict(result.timings),
            **({} if self.charge is None else {"budget": self.charge.to_json()}),
        }


@dataclass(frozen=True, slots=True)
class GraphRecord:
    """The config that a graph tuner chose for one node of a network.

    node   hash of the node's workload, its inputs, and its rank among equals
    """

    kind: ClassVar[str] = "graph"

    node: str
    task: Task
    config: ConfigEntity
    device: str
    fingerprint: str
    revision: int
    sequence: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            **_head(self.kind, self.sequence, self.device, self.fingerprint),
            "node": self.node,
            **_choice(self.task, self.config, self.revision),
        }


@dataclass(frozen=True, slots=True)
class BudgetRecord:
    """What a stage spent besides what its trials say (see `Charge`), written when it ends.

    stage      hash of all that makes two stages equal
    finished   False where it was interrupted, so that an equal stage goes on with what is left
    """

    kind: ClassVar[str] = "budget"

    stage: str
    device: str
    fingerprint: str
    finished: bool
    seconds: float
    trials: int
    sequence: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            **_head(self.kind, self.sequence, self.device, self.fingerprint),
            "stage": self.stage,
            "finished": self.finished,
            "seconds": self.seconds,
            "trials": self.trials,
        }


AnyRecord: TypeAlias = Record | GraphRecord | BudgetRecord


class OtherVersionError(BadLineError):
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
        return GraphRecord(node, self._task(data), _config(data), *_device(data), *_numbers(data))

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


def sensible(make: Callable[[Any], Any], data: Any) -> Any:
    """What is made of a line's value. Raises BadLineError where the value is not as expected.

    A line may hold anything, so whatever its types and numbers make Python refuse is its fault.
    """
    try:
        return make(data)
    except BadLineError:
        raise
    except KeyError as error:
        raise BadLineError(f"no member {error}"[:120]) from None
    except (
        *(TypeError, ValueError, AttributeError, LookupError, ArithmeticError),
        *(RecursionError, UsageError),
    ) as error:
        raise BadLineError(str(error)[:120]) from None


def _head(kind: str, sequence: int, device: str, fingerprint: str) -> dict[str, Any]:
    return {
        "version": VERSION,
        "kind": kind,
        "sequence": sequence,
        "device": {"name": device, "fingerprint": fingerprint},
    }


def _choice(task: Task, config: ConfigEntity, revision: int) -> dict[str, Any]:
    return {
        "key": task.workload.key,
        "workload": task.workload.to_json(),
        "target": str(task.target),
        "strategy": config.strategy,
        "revision": revision,
        "config": thaw(config.values),
    }


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
