"""Reads Ansor's logs, v0.2 to v0.6 (TVM 0.7 to 0.19).

A record's config is named `ansor:FORM` and holds the steps. A log names its computation by a hash,
so the operator is found by the shapes behind it or by the loops that the steps split, and a record
is only what replays as a schedule of that operator.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.json_object import BadLineError, UnknownLineError
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.measure import Conditions, MeasureInput, Trial
from tilewright.vocabulary.record import AnyRecord, Record
from tilewright.vocabulary.task import Task
from tilewright_tensor.logs.ansor_replay import replayed
from tilewright_tensor.logs.ansor_stages import Stages
from tilewright_tensor.logs.ansor_workloads import form_and_workload
from tilewright_tensor.logs.log_lines import glimpsed, read_lines
from tilewright_tensor.logs.tvm_results import device_of, result_of, target_of
from tilewright_tensor.operators.operators import Operators

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost

PREFIX = "ansor:"
"""Of the names of configs read from Ansor's logs."""
_VERSIONS = "v0.2", "v0.3", "v0.4", "v0.5", "v0.6"


class AnsorReader:
    """A record reader."""

    def __init__(self, options: Any, host: PluginHost) -> None:
        del options
        self._operators = Operators.of(host)

    def recognises(self, first_line: str) -> bool:
        """An object with Ansor's members and a version that is a text."""
        data = glimpsed(first_line)
        return isinstance(data, dict) and _is_record(data)

    def read(self, path: Path) -> Iterator[tuple[int, AnyRecord | BadLineError]]:
        """One record a line whose steps replay."""
        return read_lines(path, self._record)

    def _record(self, data: Any, number: int) -> Record:
        if not _is_record(data):
            raise BadLineError("no record of Ansor")
        if data["v"] not in _VERSIONS:
            raise UnknownLineError(f"Ansor's version {data['v']}"[:80])
        ((key, target_text, *_), (_, steps)), result = data["i"], data["r"]
        form, anchor = form_and_workload(key, Stages.of(steps), self._operators)
        replayed(form, anchor, steps, self._operators)
        target = target_of(target_text)
        config = ConfigEntity(f"{PREFIX}{form}", {"steps": steps})
        asked = MeasureInput(Task(anchor, target), config, Conditions(constants="warm"))
        trial = Trial(asked, result_of(result, "Ansor"))
        return Record(trial, device_of(target), f"{PREFIX}{target}", 0, number)


def _is_record(data: Any) -> bool:
    return isinstance(data, dict) and isinstance(data.get("v"), str) and {"i", "r"} <= data.keys()
