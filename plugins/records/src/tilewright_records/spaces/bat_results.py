"""Reads the tables of results that BAT writes, as results in format T4.

BAT is a benchmark suite of tunable kernels for GPUs (Torring and others, "Towards a Benchmarking
Suite for Kernel Tuners", 2023). `batbench` writes `results/KERNEL/HASH/results/NUMBER.csv`: a row a
trial, with a column `config.NAME` for each parameter, `validity`, and seconds in columns `times.*`,
of which `times.runtimes` is a list.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from typing import Any

from tilewright.json_object import BadLineError, sensible

_CONFIG = "config."
_CORRECT = "Correct"
_INVALIDITIES = {
    _CORRECT: "correct",
    "Compile exception": "compile",
    "Config invalid": "constraints",
    "KnownConstraintsViolated": "constraints",
}
"""In format T4, by BAT's word; every other is a failure while it ran."""


def bat_results(content: bytes) -> dict[str, Any]:
    """The rows as the member `results`. Raises BadLineError for a text that is no such table."""
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise BadLineError(str(error)[:120]) from None
    try:
        rows = list(csv.DictReader(lines, strict=True))
    except csv.Error as error:
        raise BadLineError(str(error)[:120]) from None
    return {"results": [sensible(_result, row) for row in rows]}


def _result(row: Mapping[str, str]) -> dict[str, Any]:
    runtimes = json.loads(row["times.runtimes"]) if row["validity"] == _CORRECT else []
    return {
        "configuration": {
            name.removeprefix(_CONFIG): _value(text)
            for name, text in row.items()
            if name.startswith(_CONFIG)
        },
        "invalidity": _INVALIDITIES.get(row["validity"], "runtime"),
        "times": {
            "compilation_time": _milliseconds(row.get("times.compile_time") or 0),
            "runtimes": list(map(_milliseconds, runtimes)),
        },
    }


def _value(text: str) -> Any:
    """A parameter's value: a number, or a word."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _milliseconds(seconds: str | float) -> float:
    return float(seconds) * 1e3
