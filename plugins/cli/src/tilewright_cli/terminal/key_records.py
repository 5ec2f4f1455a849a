"""Which records file is meant where a user gives a key and names no file."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.errors import UsageError
from tilewright_cli.terminal.shared_options import TUNE_RECORDS
from tilewright_pipeline.api.task_text import names_a_key

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.roles import RecordStore


def records_for(task: str, host: PluginHost) -> Path:
    """The file of `tilewright tune`; for a key that it lacks, that of the latest run which has it.

    Runs are looked for below `runs` in the current folder.
    """
    if not names_a_key(task):
        return TUNE_RECORDS
    key = task.partition("@")[0]
    runs = filter(Path.is_file, TUNE_RECORDS.parent.parent.glob("*/records.jsonl"))
    latest_first = sorted(runs, key=lambda file: -file.stat().st_mtime)
    for file in sorted(latest_first, key=lambda file: file != TUNE_RECORDS):
        if key in _keys(file, host):
            return file
    return TUNE_RECORDS


def store_for(task: str, host: PluginHost) -> RecordStore | None:
    """The records of that file, which `find_task` needs for a key; None for any other text."""
    from tilewright_pipeline.context.run_setup import open_store

    return open_store(records_for(task, host), host) if names_a_key(task) else None


def _keys(file: Path, host: PluginHost) -> set[str]:
    from tilewright_pipeline.context.run_setup import open_store

    with suppress(UsageError):  # a file that cannot be read as records has no keys
        return {task.workload.key for task in open_store(file, host).tasks()}
    return set()
