"""Reads MetaSchedule's database: the file of tuning records (TVM 0.9 and later).

A record has a trace of instructions with decisions, the seconds of its runs, the target, and the
shapes of the operands and the output, by which the operator is found. A config is named
`metaschedule:FORM` and holds the decisions on the tiles of the product's loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.json_object import BadLineError, UnknownLineError
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.measure import (
    Conditions,
    Failure,
    FailureKind,
    MeasureInput,
    MeasureResult,
    Trial,
)
from tilewright.vocabulary.record import AnyRecord, Record
from tilewright.vocabulary.target import Target
from tilewright.vocabulary.task import Task
from tilewright_tensor.logs.ansor_workloads import FORMS, by_shapes
from tilewright_tensor.logs.log_lines import glimpsed, read_lines
from tilewright_tensor.logs.tvm_results import RELEVANT, device_of, seconds_of
from tilewright_tensor.operators.operators import Operators

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost

PREFIX = "metaschedule:"
"""Of the names of configs read from MetaSchedule's databases."""


class MetaScheduleReader:
    """A record reader."""

    def __init__(self, options: Any, host: PluginHost) -> None:
        del options
        self._operators = Operators.of(host)

    def recognises(self, first_line: str) -> bool:
        """A list of a workload's number and a record, or of a hash and a module."""
        data = glimpsed(first_line)
        return _is_record(data) or _is_workload(data)

    def read(self, path: Path) -> Iterator[tuple[int, AnyRecord | BadLineError]]:
        """One record a line of the file of tuning records."""
        return read_lines(path, self._record)

    def _record(self, data: Any, number: int) -> Record:
        if _is_workload(data):
            raise UnknownLineError("a module without a measurement: import the tuning records")
        if not _is_record(data):
            raise BadLineError("no record of MetaSchedule")
        _, ((instructions, decisions), seconds, target, arguments) = data
        shapes = [tuple(shape) for _, _, shape in arguments]
        form, workload = by_shapes(shapes, self._operators)
        if {dtype for _, dtype, _ in arguments} != {"float32"}:
            raise UnknownLineError(f"{form} of other numbers than float32")
        tiles = _tiles(instructions, decisions)
        if not tiles:
            raise UnknownLineError("no instruction of the trace samples tiles")
        config = ConfigEntity(f"{PREFIX}{form}", {"tiles": tiles[: len(FORMS[form].loops)]})
        own = Target(target["kind"], {n: target[n] for n in RELEVANT if n in target})
        asked = MeasureInput(Task(workload, own), config, Conditions(constants="warm"))
        trial = Trial(asked, _result(seconds))
        return Record(trial, device_of(own), f"{PREFIX}{own}", 0, number)


def _tiles(
    instructions: Sequence[Sequence[Any]], decisions: Sequence[tuple[int, Any]]
) -> list[Sequence[int]]:
    """Of the block with the most loops in tiles, the parts of each loop, outermost first."""
    chosen: Mapping[int, Any] = dict(decisions)
    block_of: dict[str, str] = {}
    found: dict[str, list[Sequence[int]]] = {}
    for number, (name, inputs, _, outputs) in enumerate(instructions):
        if name == "GetLoops":
            block_of.update(dict.fromkeys(outputs, inputs[0]))
        elif name == "SamplePerfectTile":
            found.setdefault(block_of[inputs[0]], []).append(chosen[number])
    return max(found.values(), key=len, default=[])


def _result(seconds: Any) -> MeasureResult:
    """No seconds stand for a failure, of whatever kind."""
    if not seconds or min(seconds) >= _FAILED:
        return MeasureResult(failure=Failure(FailureKind.RUN_ERROR, "MetaSchedule has no time"))
    return MeasureResult(seconds_of(seconds))


_FAILED = 1e9
"""What MetaSchedule writes in place of a time."""


def _is_record(data: Any) -> bool:
    return (
        isinstance(data, list)
        and len(data) == 2
        and isinstance(data[0], int)
        and isinstance(data[1], list)
        and len(data[1]) == 4
    )


def _is_workload(data: Any) -> bool:
    return isinstance(data, list) and len(data) == 2 and all(isinstance(one, str) for one in data)
