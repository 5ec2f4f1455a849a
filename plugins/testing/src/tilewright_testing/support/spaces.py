"""The spaces of tasks, one hash a line: the TARGET, the TASKS in JSON, plugin files.

Run in a fresh process with another hash seed, whose output must not differ.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.target import Target
from tilewright_pipeline.api.task_text import find_task


def space_hashes(host: PluginHost, target: Target, tasks: Sequence[str]) -> Iterator[str]:
    """Of the space of each task, all strategies together."""
    for text in tasks:
        yield host.space(find_task(text, target, host, None)).hash


if __name__ == "__main__":
    target, tasks, *files = sys.argv[1:]
    loaded = PluginHost.load([Path(file) for file in files])
    for found in space_hashes(loaded, loaded.resolve_target(target), json.loads(tasks)):
        sys.stdout.write(f"{found}\n")
