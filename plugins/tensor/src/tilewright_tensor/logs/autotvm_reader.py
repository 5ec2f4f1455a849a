"""Reads AutoTVM's logs, v0.1 (TVM up to 0.6) and v0.2, and TopHub's packages of them.

A record's config is named `autotvm:TEMPLATE` and holds the template's knobs as they were logged,
except that the first factor of a split is always -1, "the rest": old logs give it, newer ones
do not. Its device is the model that the target string names. Strategies may adopt such configs; as
they stand nothing can be built from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.json_object import BadLineError
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.measure import Conditions, MeasureInput, Trial
from tilewright.vocabulary.record import AnyRecord, Record
from tilewright.vocabulary.task import Task
from tilewright_tensor.logs.autotvm_templates import PREFIX, template_name, workload_of
from tilewright_tensor.logs.log_lines import glimpsed, read_lines
from tilewright_tensor.logs.tvm_results import device_of, result_of, target_of
from tilewright_tensor.operators.operators import Operators

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost


class AutotvmReader:
    """A record reader."""

    def __init__(self, options: Any, host: PluginHost) -> None:
        del options
        self._operators = Operators.of(host)

    def recognises(self, first_line: str) -> bool:
        """An object with AutoTVM's members; bad numbers are no reason not to be of AutoTVM."""
        data = glimpsed(first_line)
        return isinstance(data, dict) and _is_record(data)

    def read(self, path: Path) -> Iterator[tuple[int, AnyRecord | BadLineError]]:
        """One record a line that holds one."""
        return read_lines(path, self._record)

    def _record(self, data: Mapping[str, Any], number: int) -> Record:
        if not _is_record(data):
            raise BadLineError("no record of AutoTVM")
        if "input" in data:
            target_text, template, arguments = data["input"][:3]
            entities, result = data["config"]["entity"], data["result"]
            target = target_of(target_text)
        else:
            target_text, task, arguments, _, _, config = data["i"]
            target = target_of(target_text)
            template = template_name(task, target.kind, config["t"])
            entities, result = config["e"], data["r"]
        values = {name: _canonical(kind, value) for name, kind, value in entities}
        workload = workload_of(template, arguments, self._operators)
        config_entity = ConfigEntity(f"{PREFIX}{template}", values)
        # AutoTVM runs a kernel again and again on one copy of its operands
        asked = MeasureInput(Task(workload, target), config_entity, Conditions(constants="warm"))
        trial = Trial(asked, result_of(result, "AutoTVM"))
        return Record(trial, device_of(target), f"{PREFIX}{target}", 0, number)


def _is_record(data: Mapping[str, Any]) -> bool:
    old = data.get("v") == 0.1 and {"i", "r"} <= data.keys()
    return old or {"input", "config", "result"} <= data.keys()


def _canonical(kind: str, value: Any) -> Any:
    return (-1, *value[1:]) if kind == "sp" else value
