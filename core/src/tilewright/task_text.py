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
_CALL = re.compile(r"\s*[a-z][a-z0-9_.]*\s*\(")
_KEY = re.compile(r"([0-9a-f]{16})(?:@(\S+))?\Z")


def names_a_task(text: str) -> bool:
    """Whether it is meant for `find_task`, not for a pipeline or a model."""
    return bool(_CALL.match(text) or _KEY.match(text) or text.endswith(".json"))


def find_task(
    text: str, target: Target | None, host: PluginHost, store: JsonlRecordStore | None
) -> Task:
    """The task of `operator(arguments)`, of a key in the store, or of a JSON file.

    A key is a workload's, or a task's, which names its target behind an `@`. Without a target it is
    the one of the key's latest task, else `native`. Raises UsageError where the text is none of
    these.
    """
    if match := _KEY.match(text):
        if target is None and match[2]:
            target = host.resolve_target(match[2])
        return _recorded(match[1], target, store)
    target = target or host.resolve_target("native")
    if match := _TEXT_FORM.match(text):
        where = f"task {text.strip()}"
        return Task(host.reference(match[1]).parse(match[2], where), target)
    if text.endswith(".json"):
        return Task(_workload_of(Path(text)), target)
    if _CALL.match(text):
        raise UsageError(f"no task: {text!r}", remedy="its last bracket is not closed")
    raise UsageError(
        f"no task: {text!r}",
        remedy="write operator(arguments), a key of the records file, or a .json file",
    )


def _recorded(key: str, target: Target | None, store: JsonlRecordStore | None) -> Task:
    for task in reversed(store.tasks() if store is not None else ()):
        if task.workload.key == key:
            return Task(task.workload, target) if target else task
    place = str(store.path) if store is not None else "--records"
    raise UsageError(
        f"no record has the key {key}",
        where=place,
        remedy="`tilewright records ls FILE` lists keys; --records names another file",
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
