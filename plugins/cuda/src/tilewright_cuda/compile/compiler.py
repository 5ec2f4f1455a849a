"""The compiler of this machine, and machine code remembered by the content of its text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Protocol

from tilewright_cuda.compile.code_cache import CodeCache
from tilewright_cuda.compile.compile_error import CompileError
from tilewright_cuda.program.arch import DEFAULT, Arch


class Compiler(Protocol):
    """Makes cubins; `version` tells two of them apart whose code may differ.

    path    its library or program
    major   version of CUDA it belongs to
    """

    path: str
    version: str
    major: int

    def compile(self, text: str, arch: str, *, verbose: bool = False) -> tuple[bytes, str]: ...


def compilers() -> Iterator[Compiler]:
    """Those of this machine that tell their version: NVRTCs, then nvccs."""
    from tilewright_cuda.compile.nvcc import nvccs
    from tilewright_cuda.compile.nvrtc import nvrtcs

    yield from nvrtcs()
    yield from nvccs()


@cache
def find_compiler(arch: str = DEFAULT) -> Compiler | None:
    """The first whose code for the architecture can be had and loaded.

    None where there is none: then artefacts hold texts only.
    """
    return next((one for one in compilers() if refusal(one, arch) is None), None)


def refusal(compiler: Compiler, arch: str) -> str | None:
    """Why it makes no code for an architecture, or none that the driver loads; else None."""
    from tilewright_cuda.driver.libcuda import driver_version

    driver = driver_version()
    if driver is not None and compiler.major > driver[0]:
        return f"the driver knows CUDA {driver[0]}.{driver[1]} and loads no later code"
    known = _tried_before(compiler, arch)
    if known and _TRIALS.find(known):
        return None
    try:
        cubin, _ = compiler.compile(_NOTHING, arch)
    except CompileError as error:
        return " ".join(error.log.split())
    if known:
        with suppress(OSError):  # a full disk costs only speed
            _TRIALS.keep(known, cubin)
    return None


def _tried_before(compiler: Compiler, arch: str) -> str:
    """The cache key of a probe: nvcc takes half a second for each of eight architectures.

    Empty for a compiler whose file is unknown, which may differ the next time.
    """
    try:
        file = Path(compiler.path).stat()
    except OSError:
        return ""
    identity = (compiler.path, file.st_size, file.st_mtime_ns, compiler.version, arch)
    return "\n".join([*map(str, identity), _NOTHING])


_NOTHING = 'extern "C" __global__ void nothing() {}\n'
CUBINS = CodeCache("cubin", "cubin")
_TRIALS = CodeCache("cubin-trials", "cubin")
REMEDY = (
    "pip install 'tilewright-cuda[nvrtc]', nvidia-cuda-nvrtc-cu12 for sm_70 and for a driver "
    "of CUDA 12, or a CUDA toolkit with nvcc in PATH; of a version that the driver knows"
)


def compiled(text: str, arch: Arch) -> bytes | None:
    """The cubin of a text, from the cache where it was compiled before; None without a compiler
    for the architecture.

    Raises CompileError.
    """
    compiler = find_compiler(arch.name)
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
