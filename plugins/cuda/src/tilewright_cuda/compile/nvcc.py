"""nvcc, where there is no NVRTC."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from tilewright_cuda.compile.compile_error import CompileError

_SECONDS = 300


class Nvcc:
    """An nvcc that answers; `version` is what artefacts of it are cached under."""

    def __init__(self, path: str) -> None:
        self.path = path
        asked = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=_SECONDS, check=True
        )
        found = re.search(r"V(\d+\.\d+\.\d+)", asked.stdout)
        number = found.group(1) if found else "0"
        self.major = int(number.partition(".")[0])
        self.version = f"nvcc {number}"

    def compile(self, text: str, arch: str, *, verbose: bool = False) -> tuple[bytes, str]:
        """(cubin, log). Raises CompileError; with `verbose`, the log has what ptxas tells."""
        with tempfile.TemporaryDirectory(prefix="tilewright-nvcc-") as folder:
            source, cubin = Path(folder, "kernels.cu"), Path(folder, "kernels.cubin")
            source.write_text(text)
            command = [
                self.path, "--cubin", f"--gpu-architecture={arch}", "--std=c++17",
                *(["--ptxas-options=-v"] if verbose else []), "-o", str(cubin), str(source),
            ]  # fmt: skip
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_SECONDS, check=False
            )
            if done.returncode:
                raise CompileError(done.stderr.strip() or done.stdout.strip(), self.version)
            return cubin.read_bytes(), done.stderr.strip()


def nvccs() -> Iterator[Nvcc]:
    """Those that answer: of CUDA_HOME, of PATH, and of the usual place."""
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    for path in (
        str(Path(home, "bin", "nvcc")) if home else None,
        shutil.which("nvcc"),
        "/usr/local/cuda/bin/nvcc",
    ):
        if path and Path(path).exists():
            with suppress(OSError, subprocess.SubprocessError):
                yield _asked(path)


@cache
def _asked(path: str) -> Nvcc:
    """Asked for its version once a process."""
    return Nvcc(path)
