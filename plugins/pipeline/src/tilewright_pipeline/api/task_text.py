"""Finds the task that a user names: a text form, a key, or a file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.errors import UsageError
from tilewright.paths import check_is_file
from tilewright.reading import read_file
from tilewright.vocabulary.task import Task
from tilewright.vocabulary.workload import Workload

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.roles import RecordStore
    from tilewright.vocabulary.target import Target
    from tilewright_pipeline.context.reach import ResolvesTarget

_OWNER = r"(?:[A-Za-z0-9][\w.-]*/)?"
_TEXT_FORM = re.compile(rf"\s*({_OWNER}[a-z][a-z0-9_.]*)\s*(\(.*\))\s*\Z", re.DOTALL)
_CALL = re.compile(r"\s*[a-z][a-z0-9_.]*\s*\(")
_KEY = re.compile(r"([0-9a-f]{16})(?:@(\S+))?\Z")


def names_a_task(text: str) -> bool:
    """Whether it is meant for `find_task`, not for a pipeline or a model."""
    return bool(
        _CALL.match(text) or _TEXT_FORM.match(text) or _KEY.match(text) or text.endswith(".json")
    )


def names_a_key(text: str) -> bool:
    """Whether `find_task` needs the records for it."""
    return bool(_KEY.match(text))


def find_task(
    text: str,
    target: Target | None,
    host: PluginHost,
    store: RecordStore | None,
    resolve: ResolvesTarget | None = None,
) -> Task:
    """The task of `operator(arguments)`, of a key in the store, or of a JSON file.

    A key is a workload's, or a task's, which names its target behind an `@`. Without a target it is
    the one that the key names, or that of the key's latest task; else the one that the file names;
    else the default one. Raises UsageError where the text is none of these, where a key names
    another target than the one given, and where an operator's definition has changed since.

    resolve   what a target's text means; default: on this machine
    """
    found = find_tasks(text, target, host, store, resolve)
    if len(found) > 1:
        raise UsageError(
            f"expected one task, got {len(found)}",
            where=text,
            remedy="give one entry of its `tasks` as a file, or the `text` of one",
        )
    return found[0]


def find_tasks(
    text: str,
    target: Target | None,
    host: PluginHost,
    store: RecordStore | None,
    resolve: ResolvesTarget | None = None,
) -> list[Task]:
    """The tasks of a JSON file, one or more; of any other text the one of `find_task`."""
    resolve = resolve or host.resolve_target
    if match := _KEY.match(text):
        return [_recorded(match[1], _agreed(target, match[2], text, resolve), host, store)]
    if match := _TEXT_FORM.match(text):
        where = f"task {text.strip()}"
        workload = host.reference(match[1]).parse(match[2], where)
        return [Task(workload, target or resolve(None))]
    if text.endswith(".json"):
        every, named = _content_of(Path(text))
        target = target or resolve(named)
        checked = (host.reference(one.operator).checked(one, text) for one in every)
        return [Task(workload, target) for workload in checked]
    if _CALL.match(text) and text.count("(") > text.count(")"):
        raise UsageError(f"no task: {text!r}", remedy="its last bracket is not closed")
    if not _CALL.match(text) and (Path(text).suffix or ":" in text):
        remedy = f"networks and pipeline files are tuned by `tilewright run {text}`"
        raise UsageError(f"no task: {text!r}", remedy=remedy)
    raise UsageError(
        f"no task: {text!r}",
        remedy="write operator(arguments), and + operator(arguments) for each of its epilogue; "
        "or a key of the records file, or a .json file",
    )


def _agreed(
    target: Target | None, named: str | None, text: str, resolve: ResolvesTarget
) -> Target | None:
    """The target that is given or named by a key, None where neither is."""
    of_key = resolve(named) if named else None
    if target is not None and of_key is not None and target != of_key:
        raise UsageError(
            f"the key names the target {of_key}, but asked for is {target}",
            where=text,
            remedy="give the key without its @, or no --target",
        )
    return target or of_key


def _recorded(key: str, target: Target | None, host: PluginHost, store: RecordStore | None) -> Task:
    for task in reversed(store.tasks() if store is not None else ()):
        if task.workload.key == key:
            if task.workload.definitions:
                host.reference(task.workload.operator).checked(task.workload, key)
            return Task(task.workload, target) if target else task
    place = str(store.path) if store is not None else "--records"
    raise UsageError(
        f"no record has the key {key}",
        where=place,
        remedy=f"of a network that was never tuned: tilewright explain FILE.yaml|MODEL {key}; or "
        "give its text, as `tilewright tasks` prints it; `tilewright records ls FILE` lists keys, "
        "and --records FILE names the file that has it",
    )


def _content_of(path: Path) -> tuple[list[Workload], str | None]:
    """The workloads of a file, and the target that it names, if any."""
    from tilewright_pipeline.api.workload_file import WorkloadFile
    from tilewright_pipeline.options.mistakes import checked

    try:
        data = json.loads(read_file(check_is_file(path, "task file")).decode())
    except OSError as error:
        raise UsageError(f"cannot read the file: {error.strerror}", where=str(path)) from None
    except (ValueError, RecursionError) as error:
        raise _no_workload(path, f"no JSON: {error}") from None
    data = data if isinstance(data, dict) else {}
    tasks = data.get("tasks", [data])
    if not isinstance(tasks, list) or not tasks:
        raise _no_workload(path, "it lists no tasks")
    workloads = []
    for task in tasks:
        workload = task.get("workload", task) if isinstance(task, dict) else None
        if not isinstance(workload, dict):
            raise _no_workload(path, "it holds no workload")
        checked(WorkloadFile, workload, where=str(path))
        workloads.append(Workload.from_json(workload))
    named = data.get("target")
    return workloads, None if named is None else str(named)


def _no_workload(path: Path, why: str) -> UsageError:
    return UsageError(
        why,
        where=str(path),
        remedy="expected an entry of what `tilewright tasks --json` prints, or its `workload`",
    )
