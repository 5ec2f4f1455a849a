"""What the tests leave behind: processes that they have started, temporary files, files beside the sources."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

MARK = "TILEWRIGHT_TESTS_OF"
"""An environment variable; whatever a test starts inherits it."""

_PATIENCE_SECONDS = 120
_ENDS_WITH_US = b"multiprocessing.resource_tracker"


def processes(number: int, patience_seconds: float = _PATIENCE_SECONDS) -> list[str]:
    """Command lines of those that a process has started and they in turn; waited for, as they may be ending."""
    deadline = time.monotonic() + patience_seconds
    while (found := _living(number)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def _living(number: int) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # somebody else's, or gone
            variables = (process / "environ").read_bytes().split(b"\0")
            command = (process / "cmdline").read_bytes()
            if f"{MARK}={number}".encode() in variables and _ENDS_WITH_US not in command:
                words = command.replace(b"\0", b" ").decode(errors="replace").strip()
                found.append(f"{process.name}: {words}")
    return found


def files(folder: Path) -> list[str]:
    """Files in a temporary folder, but for those of a pytest that a test has called, and for locks, which must stay: who removed one could not tell whether it is awaited."""
    locks = folder / f"tilewright-{os.getuid()}"
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path != locks and not (path.parent == locks and path.is_file())
        if not path.relative_to(folder).parts[0].startswith("pytest-of-")
    )


def beside_the_sources(root: Path) -> set[str]:
    """Names in the folder of the repository, but for caches of tools, which are hidden."""
    return {path.name for path in root.iterdir() if not path.name.startswith(".")}
