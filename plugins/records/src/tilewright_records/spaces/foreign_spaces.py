"""Reads what Kernel Tuner and BAT measured as recorded spaces: caches, format T4, BAT's tables.

A cache (`tune_kernel(..., cache=FILE)`) names its parameters and has an entry a config. Format T4
is a list of results, each with its configuration, in which the parameters' values are found; a
table of BAT's is read as such a list. Times in both are milliseconds unless a unit says otherwise.
Neither says which configs are allowed: those that were measured are, and no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.errors import UsageError
from tilewright.json_object import BadLineError, parse_object, sensible
from tilewright.space.config_space import ConfigSpace
from tilewright.space.entities.knob_values import KnobValues
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.measure import (
    Conditions,
    Failure,
    FailureKind,
    MeasureResult,
    is_seconds,
)
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.workload import Workload
from tilewright_records.recording import content_of
from tilewright_records.spaces.bat_results import bat_results
from tilewright_records.spaces.listed_alternative import ListedAlternative
from tilewright_records.spaces.recorded_space import RecordedSpace

_PER_SECOND = {"s": 1, "seconds": 1, "us": 1e6, "microseconds": 1e6, "ns": 1e9, "nanoseconds": 1e9}
_MILLISECONDS = 1e3
_TABLE = ".csv"
_CACHE_FAILURES = {
    "CompilationFailedConfig": FailureKind.BUILD_ERROR,
    "RuntimeFailedConfig": FailureKind.RUN_ERROR,
}
_NOT_ALLOWED = "constraints"
_T4_FAILURES = {
    _NOT_ALLOWED: FailureKind.INVALID_CONFIG,
    "timeout": FailureKind.RUN_TIMEOUT,
    "compile": FailureKind.BUILD_ERROR,
    "runtime": FailureKind.RUN_ERROR,
    "correctness": FailureKind.WRONG_ANSWER,
}
_NO_TIME = 1e19
"""What old caches have in place of a time is more."""

_Measured = tuple[Mapping[str, Any], MeasureResult]


def read_foreign_space(path: Path) -> RecordedSpace:
    """The space of a cache, of results in format T4, or of BAT's; may be compressed (`.gz`).

    It is called after the file, which most often bears a device's name, and the kernel where the
    file names one: `gemm@A100`.

    Raises UsageError where it is none of them, or has fewer than two configs.
    """
    name = file_name(path)
    try:
        data = _content(path)
        found: RecordedSpace = sensible(lambda content: _space(name, content), data)
    except BadLineError as error:
        raise UsageError(
            f"neither a cache of Kernel Tuner's nor results in format T4 or of BAT: {error}",
            where=str(path),
            remedy="our own recordings are called NAME.space.json",
        ) from None
    return found


@dataclass(frozen=True, slots=True)
class ForeignFile:
    """What a file says of all of its entries.

    kernel   what was tuned
    task     the kernel and the file, on a target of its own
    entries  as the file has them; see `measured`
    keys     the parameters' names; none where every entry names its own
    """

    kernel: str
    device: str
    task: Task
    entries: Sequence[Any]
    keys: Sequence[str]

    @classmethod
    def of(cls, name: str, data: Mapping[str, Any]) -> ForeignFile:
        """Of a file's content. Raises what `sensible` catches for one that is none."""
        cache = "cache" in data
        kernel = str(data.get("kernel_name", name))
        about = {"problem_size": data["problem_size"]} if "problem_size" in data else {}
        return cls(
            kernel,
            str(data.get("device_name", "")) if cache else "",
            Task(Workload(kernel, (), {**about, "file": name}), Target("foreign")),
            list(data["cache"].values() if cache else data["results"]),
            data["tune_params_keys"] if cache else (),
        )

    def measured(self, entry: Mapping[str, Any]) -> _Measured:
        """The configuration of an entry and its result. Raises what `sensible` catches."""
        return _cached(entry, self.keys) if self.keys else _result(entry)


def file_name(path: Path) -> str:
    """A file's name without what says its format."""
    return path.name.removesuffix(".gz").removesuffix(".json").removesuffix(_TABLE)


def _content(path: Path) -> Mapping[str, Any]:
    content = content_of(path)
    if path.name.removesuffix(".gz").endswith(_TABLE):
        return bat_results(content)
    return parse_object(content.strip())


def _space(name: str, data: Mapping[str, Any]) -> RecordedSpace:
    file = ForeignFile.of(name, data)
    allowed = [entry for entry in file.entries if entry.get("invalidity") != _NOT_ALLOWED]
    measured = list(map(file.measured, allowed))
    if len(measured) < 2:
        raise BadLineError(f"{len(measured)} configs")
    knobs = list(_knobs(file.keys or list(measured[0][0]), measured))
    results = {ConfigEntity(file.kernel, config): result for config, result in measured}
    return RecordedSpace(
        name=f"{file.kernel}@{name}" if file.kernel != name else name,
        task=file.task,
        space=ConfigSpace([ListedAlternative(file.kernel, knobs, results)]),
        conditions=Conditions(constants="warm"),
        results=results,
        device=file.device,
    )


def _cached(entry: Mapping[str, Any], keys: Sequence[str]) -> _Measured:
    config = {key: _plain(entry[key]) for key in keys}
    parts = {
        "compile": entry.get("compile_time", 0),
        "check": entry.get("verification_time", 0),
        "time": entry.get("benchmark_time", 0),
    }
    time = entry["__error__"] if "__error__" in entry else entry["time"]
    if isinstance(time, str) or time > _NO_TIME:
        kind = _CACHE_FAILURES.get(time, FailureKind.INVALID_CONFIG)
        return config, _failed(kind, str(time), parts)
    return config, _timed(entry.get("times") or [time], _MILLISECONDS, parts)


def _result(entry: Mapping[str, Any]) -> _Measured:
    config = {str(key): _plain(value) for key, value in entry["configuration"].items()}
    times, why = entry["times"], entry["invalidity"]
    runs = times.get("runtimes") or []
    parts = {
        "compile": times.get("compilation_time", 0),
        "check": times.get("validation", 0),
        "time": sum(runs),
    }
    if why != "correct":
        return config, _failed(_T4_FAILURES[why], why, parts)
    measurements = {each["name"]: each for each in entry.get("measurements", ())}
    told = measurements.get("time", {})
    unit = _PER_SECOND.get(str(told.get("unit", "")).lower(), _MILLISECONDS)
    return config, _timed(runs or [told["value"]], unit, parts)


def _knobs(names: Sequence[str], measured: Sequence[_Measured]) -> Iterator[KnobValues]:
    """Each parameter with the values that occur: numbers in their order."""
    for name in names:
        values = list(dict.fromkeys(config[name] for config, _ in measured))
        if all(isinstance(value, int | float) for value in values):
            values.sort()
        yield KnobValues(name, "other", tuple(values))


def _plain(value: Any) -> Any:
    """A parameter's value, 4.0 and 4 alike."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _timed(times: Sequence[Any], per_second: float, parts: Mapping[str, Any]) -> MeasureResult:
    costs = tuple(float(time) / per_second for time in times)
    if not all(map(is_seconds, costs)):
        raise BadLineError(f"a time of {times!r}"[:80])
    return MeasureResult(costs, timings=_seconds(parts))


def _failed(kind: FailureKind, text: str, parts: Mapping[str, Any]) -> MeasureResult:
    return MeasureResult(failure=Failure(kind, text), timings=_seconds(parts))


def _seconds(parts: Mapping[str, Any]) -> dict[str, float]:
    """Milliseconds as seconds; nothing where none of them is told."""
    found = {name: float(spent or 0) / _MILLISECONDS for name, spent in parts.items()}
    return found if any(found.values()) else {}
