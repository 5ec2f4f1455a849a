"""Reads AutoTVM's logs, v0.1 (TVM up to 0.6) and v0.2, and TopHub's packages of them.

A record's config is named `autotvm:TEMPLATE` and holds the template's knobs as they were logged,
except that the first factor of a split is always -1, "the rest": old logs give it, newer ones
do not. Its device is the model that the target string names. Strategies may adopt such configs; as
they stand nothing can be built from them.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.errors import UsageError
from tilewright.json_object import MAX_LINE_BYTES, BadLineError, parse_object, sensible
from tilewright.reading import open_file
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
from tilewright_tensor.logs.autotvm_templates import template_name, workload_of
from tilewright_tensor.operators.operators import Operators

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost

PREFIX = "autotvm:"
"""Of the names of configs read from AutoTVM's logs."""
_MAX_SECONDS = 1e8
_ATTRIBUTE = re.compile(r"-([a-z_]+)=(\S+)")
_RELEVANT = ("model", "mcpu", "device")
_BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"
_FAILURES = {
    1: FailureKind.INVALID_CONFIG,
    2: FailureKind.BUILD_ERROR,
    3: FailureKind.BUILD_ERROR,
    4: FailureKind.RUN_ERROR,
    5: FailureKind.WRONG_ANSWER,
    6: FailureKind.BUILD_TIMEOUT,
    7: FailureKind.RUN_TIMEOUT,
}
"""MeasureErrorNo; what is not in it is `internal`."""


class AutotvmReader:
    """A record reader; comments and empty lines are passed over, bad lines say what is wrong."""

    def __init__(self, options: Any, host: PluginHost) -> None:
        del options
        self._operators = Operators.of(host)

    def recognises(self, first_line: str) -> bool:
        """A comment, as TopHub's files begin with, or an object with AutoTVM's members."""
        line = first_line.lstrip(_BOM).strip()
        if line.startswith("#"):
            return True
        try:
            data = json.loads(line)  # bad numbers are no reason not to be of AutoTVM
        except (ValueError, RecursionError):
            return False
        return isinstance(data, dict) and _is_record(data)

    def read(self, path: Path) -> Iterator[tuple[int, AnyRecord | BadLineError]]:
        """One record a line that holds one."""
        try:
            with open_file(path) as file:
                text_file = io.TextIOWrapper(file, "utf-8-sig", "replace")
                # Of a line beyond the limit every piece is a bad one.
                pieces = iter(lambda: text_file.readline(MAX_LINE_BYTES), "")
                for number, line in enumerate(pieces, 1):
                    text = line.strip()
                    if text and not text.startswith("#"):
                        yield number, self._line(text, number)
        except OSError as error:
            raise UsageError(
                f"cannot read the records file: {error.strerror}", where=str(path)
            ) from error

    def _line(self, text: str, number: int) -> AnyRecord | BadLineError:
        try:
            record: Record = sensible(lambda data: self._record(data, number), _object(text))
        except BadLineError as error:
            return error
        return record

    def _record(self, data: Mapping[str, Any], number: int) -> Record:
        if "input" in data:
            target_text, template, arguments = data["input"][:3]
            entities, result = data["config"]["entity"], data["result"]
            target = _target(target_text)
        else:
            target_text, task, arguments, _, _, config = data["i"]
            target = _target(target_text)
            template = template_name(task, target.kind, config["t"])
            entities, result = config["e"], data["r"]
        values = {name: _canonical(kind, value) for name, kind, value in entities}
        workload = workload_of(template, arguments, self._operators)
        config_entity = ConfigEntity(f"{PREFIX}{template}", values)
        # AutoTVM runs a kernel again and again on one copy of its operands
        asked = MeasureInput(Task(workload, target), config_entity, Conditions(constants="warm"))
        device = next((target.get(a) for a in _RELEVANT if target.get(a)), target.kind)
        trial = Trial(asked, _result(result))
        return Record(trial, device, f"{PREFIX}{target}", 0, number)


def _object(text: str) -> Mapping[str, Any]:
    if len(text) >= MAX_LINE_BYTES:
        raise BadLineError(f"{len(text)} characters, the limit is {MAX_LINE_BYTES}")
    data = parse_object(text.encode("utf-8", "replace"))
    if not _is_record(data):
        raise BadLineError("no record of AutoTVM")
    return data


def _is_record(data: Mapping[str, Any]) -> bool:
    old = data.get("v") == 0.1 and {"i", "r"} <= data.keys()
    return old or {"input", "config", "result"} <= data.keys()


def _target(text: str) -> Target:
    """Kind and what names the processor; flags of code generation would only hide equal ones."""
    kind = text.split(maxsplit=1)[0]
    found = dict(_ATTRIBUTE.findall(text))
    return Target(kind, {name: found[name] for name in _RELEVANT if name in found})


def _canonical(kind: str, value: Any) -> Any:
    return (-1, *value[1:]) if kind == "sp" else value


def _result(result: Any) -> MeasureResult:
    costs, error, total, *_ = result
    if error:
        kind = _FAILURES.get(error, FailureKind.INTERNAL)
        return MeasureResult(failure=Failure(kind, f"AutoTVM's error {error}"))
    if not costs or not all(0 < cost < _MAX_SECONDS for cost in costs):
        raise BadLineError(f"costs of {costs}")
    timings = {"total": float(total)} if total > 0 else {}
    return MeasureResult(tuple(float(cost) for cost in costs), timings=timings)
