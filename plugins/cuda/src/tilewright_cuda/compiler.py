"""The compiler of this machine, and machine code remembered by the content of its text."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from tilewright_cuda.arch import Arch


class Compiler(Protocol):
    """Makes cubins; `version` tells two of them apart whose code may differ."""

    version: str

    def compile(self, text: str, arch: str, *, verbose: bool = False) -> tuple[bytes, str]: ...


@cache
def find_compiler() -> Compiler | None:
    """NVRTC, else nvcc, else None: then artefacts hold texts only."""
    from tilewright_cuda.nvcc import find_nvcc
    from tilewright_cuda.nvrtc import find_nvrtc

    return find_nvrtc() or find_nvcc()


_KEPT = 64
"""Cubins in each of the cache's 256 folders: some hundred megabytes altogether."""
REMEDY = "pip install 'tilewright-cuda[nvrtc]', or a CUDA toolkit with nvcc in PATH"


def compiled(text: str, arch: Arch) -> bytes | None:
    """The cubin of a text, from the cache where it was compiled before; None without a compiler.

    Raises CompileError.
    """
    compiler = find_compiler()
    if compiler is None:
        return None
    key = sha256(f"{compiler.version}\n{arch.name}\n{text}".encode()).hexdigest()
    path = cache_folder() / key[:2] / f"{key}.cubin"
    try:
        return path.read_bytes()
    except OSError:
        pass
    cubin, _ = compiler.compile(text, arch.name)
    _keep(path, cubin)
    return cubin


def cache_folder() -> Path:
    """Where cubins are kept: `tilewright/cubin` in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "tilewright", "cubin")


def _keep(path: Path, cubin: bytes) -> None:
    """Write a whole file or none, and drop the oldest of too many.

    A folder that cannot be written to costs only speed.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(cubin)
        Path(file.name).replace(path)
        kept = sorted(path.parent.glob("*.cubin"), key=lambda one: one.stat().st_mtime)
        for old in kept[:-_KEPT]:
            old.unlink(missing_ok=True)
    except OSError:
        return
