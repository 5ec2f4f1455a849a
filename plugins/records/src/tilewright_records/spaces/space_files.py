"""Reads and writes recorded spaces as two files: `NAME.space.json` and `NAME.records.jsonl.gz`.

The first has these members:

recording   version of this format, 1
task        as in records: workload and target
conditions  as in records
device      name and attributes of what was measured on
space       alternatives with their knobs and constraints, so that a later revision of a strategy
            changes nothing

The second has a trial's record for each feasible point, in order of the space, as a record store
would have it, with costs of five digits and timings of two. So the runner `replay` and
`tilewright bench models` read it, too.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tilewright.errors import UsageError
from tilewright.json_object import BadLineError, parse_object, sensible
from tilewright.space.config_space import ConfigSpace
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import Conditions
from tilewright.vocabulary.record import Record
from tilewright.vocabulary.task import Task
from tilewright_records.encoding import record_json
from tilewright_records.line import seal
from tilewright_records.recording import content_of, trials_in
from tilewright_records.spaces.recorded_space import RecordedSpace

VERSION = 1
SPACE, RECORDS = ".space.json", ".records.jsonl.gz"


def read_space(path: Path) -> RecordedSpace:
    """The recorded space of a file `NAME.space.json` and of the records beside it.

    Raises UsageError where one of them cannot be read or is of a later format.
    """
    name = path.name.removesuffix(SPACE)
    try:
        data = parse_object(content_of(path).strip())
        made: RecordedSpace = sensible(lambda found: _described(name, found), data)
    except BadLineError as error:
        raise UsageError(f"no recorded space: {error}", where=str(path)) from None
    results = {
        record.config: record.trial.result
        for record in trials_in(path.with_name(name + RECORDS))
        if record.task == made.task and not record.trial.result.spoiled
    }
    missing = sum(config not in results for config in made.space.points())
    if missing:
        raise UsageError(
            f"{missing} of its configs have no record",
            where=str(path.with_name(name + RECORDS)),
            remedy="record the rest: tilewright bench record goes on where it stopped",
        )
    return replace(made, results=results)


def write_space(
    folder: Path,
    name: str,
    space: ConfigSpace,
    records: Iterable[Record],
    device: Device,
) -> list[Path]:
    """Write both files of a space and its records, at least one, in order of the space."""
    kept = list(records)
    asked = kept[0].trial.input
    described = {
        "recording": VERSION,
        "task": asked.task.to_json(),
        "conditions": asked.conditions.to_json(),
        "device": {member: device.to_json()[member] for member in ("name", "attributes")},
        "space": space.to_json(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    first, second = folder / (name + SPACE), folder / (name + RECORDS)
    first.write_text(json.dumps(described, separators=(",", ":")) + "\n", encoding="utf-8")
    second.write_bytes(gzip.compress(b"".join(map(_compact, kept)), mtime=0))
    return [first, second]


def _described(name: str, data: Mapping[str, Any]) -> RecordedSpace:
    if data["recording"] != VERSION:
        raise BadLineError(f"its format is {data['recording']!r}, this release reads {VERSION}")
    device = Device.from_json(data["device"])
    model = device.attributes.get("model", device.name)
    return RecordedSpace(
        name=name,
        task=Task.from_json(data["task"]),
        space=ConfigSpace.from_json(data["space"]),
        conditions=Conditions.from_json(data["conditions"]),
        results={},
        device=str(model),
    )


def _compact(record: Record) -> bytes:
    result = record.trial.result
    short = replace(
        result,
        costs=tuple(float(f"{seconds:.4e}") for seconds in result.costs),
        timings={name: float(f"{seconds:.1e}") for name, seconds in result.timings.items()},
    )
    return seal(record_json(replace(record, trial=replace(record.trial, result=short))))
