"""The compiler of this machine, and machine code remembered by the content of its text."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Protocol

from tilewright_cuda.arch import Arch
from tilewright_cuda.code_cache import CodeCache


class Compiler(Protocol):
    """Makes cubins; `version` tells two of them apart whose code may differ.

    major   version of CUDA it belongs to
    """

    version: str
    major: int

    def compile(self, text: str, arch: str, *, verbose: bool = False) -> tuple[bytes, str]: ...


@cache
def find_compiler() -> Compiler | None:
    """NVRTC, else nvcc, else None: then artefacts hold texts only."""
    from tilewright_cuda.nvcc import find_nvcc
    from tilewright_cuda.nvrtc import find_nvrtc

    return find_nvrtc() or find_nvcc()


CUBINS = CodeCache("cubin", "cubin")
REMEDY = (
    "pip install 'tilewright-cuda[nvrtc]', nvidia-cuda-nvrtc-cu12 for a driver of CUDA 12, or a "
    "CUDA toolkit with nvcc in PATH; of a version that the driver knows"
)


def compiled(text: str, arch: Arch) -> bytes | None:
    """The cubin of a text, from the cache where it was compiled before; None without a compiler.

    Raises CompileError.
    """
    compiler = find_compiler()
    if compiler is None:
        return None
    source = f"{compiler.version}\n{arch.name}\n{text}"
    if known := CUBINS.read(source):
        return known
    with CUBINS.claim(source):
        if known := CUBINS.read(source):  # another process was first
            return known
        cubin, _ = compiler.compile(text, arch.name)
        with suppress(OSError):  # a full disk costs only speed
            CUBINS.keep(source, cubin)
        return cubin
