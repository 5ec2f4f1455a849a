"""Finds the task that a user names: a text form, a key, or a file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.errors import UsageError
from tilewright.task import Task
from tilewright.workload import Workload

if TYPE_CHECKING:
    from tilewright.host import PluginHost
    from tilewright.records import JsonlRecordStore
    from tilewright.target import Target

_TEXT_FORM = re.compile(r"\s*([a-z][a-z0-9_.]*)\s*(\(.*\))\s*\Z", re.DOTALL)
_KEY = re.compile(r"[0-9a-f]{16}\Z")


def find_task(text: str, target: Target, host: PluginHost, store: JsonlRecordStore | None) -> Task:
    """The task of `operator(arguments)`, of a workload's key in the store, or of a JSON file.

    Raises UsageError where it is none of these.
    """
    if match := _TEXT_FORM.match(text):
        where = f"task {text.strip()}"
        return Task(host.reference(match[1]).parse(match[2], where), target)
    if _KEY.match(text):
        for record in store.records() if store is not None else ():
            if record.task.workload.key == text:
                return Task(record.task.workload, target)
        place = str(store.path) if store is not None else "--records"
        raise UsageError(f"no record has the key {text}", where=place)
    if text.endswith(".json"):
        return Task(_workload_of(Path(text)), target)
    raise UsageError(
        f"no task: {text!r}",
        remedy="write operator(arguments), a key of the records file, or a .json file",
    )


def _workload_of(path: Path) -> Workload:
    try:
        data = json.loads(path.read_text("utf-8"))
        return Workload.from_json(data.get("workload", data))
    except OSError as error:
        raise UsageError(f"cannot read the file: {error.strerror}", where=str(path)) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"no workload: {type(error).__name__}: {error}",
            where=str(path),
            remedy="expected the JSON that `tilewright tasks --json` prints",
        ) from None
