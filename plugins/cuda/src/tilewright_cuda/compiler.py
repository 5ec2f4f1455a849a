"""The compiler of this machine, and machine code remembered by the content of its text."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Protocol

from tilewright_cuda.arch import Arch
from tilewright_cuda.code_cache import CodeCache


class Compiler(Protocol):
    """Makes cubins; `version` tells two of them apart whose code may differ.

    path    its library or program
    major   version of CUDA it belongs to
    """

    path: str
    version: str
    major: int

    def compile(self, text: str, arch: str, *, verbose: bool = False) -> tuple[bytes, str]: ...


@cache
def find_compiler() -> Compiler | None:
    """NVRTC, else nvcc, else None: then artefacts hold texts only."""
    from tilewright_cuda.nvcc import find_nvcc
    from tilewright_cuda.nvrtc import find_nvrtc

    return find_nvrtc() or find_nvcc()


def passed_over() -> tuple[Compiler, ...]:
    """What else is here, and is too new: the driver does not load its code. One a version."""
    from tilewright_cuda.libcuda import driver_loads
    from tilewright_cuda.nvcc import nvccs
    from tilewright_cuda.nvrtc import nvrtcs

    here: list[Compiler] = [*nvrtcs(), *nvccs()]
    found: dict[str, Compiler] = {}
    for one in here:
        if not driver_loads(one.major):
            found.setdefault(one.version, one)
    return tuple(found.values())


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
