"""The system's C compiler."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from tilewright.errors import UsageError

COMPILER = "cc"
_FLAGS = ("-std=c11", "-O2", "-fwrapv", "-fPIC", "-shared", "-w")
_SECONDS = 300


@cache
def version() -> str | None:
    """Its version, None where there is none."""
    path = shutil.which(COMPILER)
    if path is None:
        return None
    asked = [path, "-dumpfullversion", "-dumpversion"]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=_SECONDS, check=False)
    return done.stdout.strip() or None


def shared_object(text: str) -> bytes:
    """A C text compiled. Raises UsageError without a compiler, ValueError where it refuses."""
    if version() is None:
        raise UsageError(f"no C compiler called {COMPILER}", remedy="install gcc or clang")
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "code.so")
        command = [COMPILER, *_FLAGS, "-x", "c", "-", "-o", str(made), "-lm"]
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        if done.returncode:
            raise ValueError(f"{COMPILER} refuses the program: {done.stderr.strip()[:2000]}")
        return made.read_bytes()
