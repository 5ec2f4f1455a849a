"""Shared objects of CUDA C texts, made by g++ and kept by content."""

from __future__ import annotations

import ctypes
import platform
import re
import shutil
import subprocess
import tempfile
from functools import cache
from importlib.resources import files
from pathlib import Path

from tilewright.errors import UsageError
from tilewright_cuda.compile.code_cache import CodeCache

COMPILER = "g++"
INSTALL = f"install {COMPILER} (package g++ or gcc-c++) and have it in PATH"
_SECONDS = 120
_OBJECTS = CodeCache("emulation", "so")
# -O3 unrolls what it pays to, as the GPU's compiler does by the pragmas that g++ ignores: half the
# time of -O2 for a kernel, no more for its compilation, where obeying them takes up to 30 s.
# A large frame must touch the guard page of its fibre's stack, not step over it.
_COMMON = ("-std=c++17", "-O3", "-fPIC", "-shared", "-w", "-fstack-clash-protection")
# What an unaligned or stray access does on a device is a fault; launch.cpp defines what these call.
_CHECKED = ("-fsanitize=alignment,bounds", "-fno-sanitize-recover=all", "-fno-strict-aliasing")
# Registers that nobody set hold large negative numbers.
_POISONED, _POISONS_FROM = "-ftrivial-auto-var-init=pattern", 12
_NO_SANITIZER_LIBRARY = ("-nodefaultlibs", "-lm", "-lc", "-lgcc")
_KERNEL = re.compile(r"__global__\s+void\s+(?:__launch_bounds__\(([^,)]+)[^)]*\)\s*)?(\w+)\s*\(")
_INCLUDE = re.compile(r'#include ".*"\n|#pragma once\n')
_MOST_THREADS = 1024


@cache
def compiler_version() -> str | None:
    """Version of the C++ compiler, None where there is none."""
    path = shutil.which(COMPILER)
    if path is None:
        return None
    asked = subprocess.run(
        [path, "-dumpfullversion"], capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    return asked.stdout.strip() or None


@cache
def fibres() -> ctypes.CDLL:
    """What emulated kernels run on, loaded once a process and visible to their shared objects.

    Raises UsageError where there is no C++ compiler.
    """
    text = "".join(map(_source, ("pages.h", "fibres.h", "block.h", "launch.cpp")))
    path = _shared_object("fibres", text, (*_COMMON, "-fno-strict-aliasing"), ())
    library = ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
    library.tw_allocate.argtypes = [ctypes.c_size_t]
    library.tw_allocate.restype = ctypes.c_void_p
    library.tw_free.argtypes = [ctypes.c_void_p]
    library.tw_free.restype = None
    return library


def compile_kernels(text: str) -> Path:
    """The shared object of a CUDA C text, which offers `tw_kernel_NAME` of each kernel.

    Raises UsageError where there is no C++ compiler, RuntimeError where it refuses the text.
    """
    entries = "".join(
        f"TW_KERNEL({name}, {bound or _MOST_THREADS})\n" for bound, name in _KERNEL.findall(text)
    )
    # The lines that a failure names are the text's own.
    source = f'{_source("shim.h")}\n#line 1 "kernel.cu"\n{text}\n{entries}'
    flags = (*_COMMON, *_CHECKED, *((_POISONED,) if _poisons() else ()))
    return _shared_object("kernels", source, flags, _NO_SANITIZER_LIBRARY)


def _poisons() -> bool:
    version = compiler_version() or "0"
    return int(version.partition(".")[0]) >= _POISONS_FROM


def _shared_object(
    name: str, source: str, flags: tuple[str, ...], libraries: tuple[str, ...]
) -> Path:
    version = compiler_version()
    if version is None:
        raise UsageError(
            f"the device 'emulated' compiles kernels with {COMPILER}, which is not installed",
            remedy=INSTALL,
        )
    # Also the kind of processor: a home folder may be that of several machines.
    content = "\0".join((name, version, platform.machine(), *flags, source))
    if known := _OBJECTS.find(content):
        return known
    folder = tempfile.TemporaryDirectory(prefix="tilewright-emulation-")
    with _OBJECTS.claim(content), folder as path:
        if known := _OBJECTS.find(content):  # another process was first
            return known
        made = Path(path, f"{name}.so")
        done = subprocess.run(
            [COMPILER, *flags, "-x", "c++", "-o", str(made), "-", *libraries],
            input=source, capture_output=True, text=True, timeout=_SECONDS, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{COMPILER} refuses the kernel:\n{done.stderr.strip()[-2000:]}")
        return _OBJECTS.keep(content, made.read_bytes())


@cache
def _source(name: str) -> str:
    """A file of this folder, without what names the others: they come in one piece."""
    text = files("tilewright_cuda.emulation").joinpath(name).read_text(encoding="utf-8")
    return _INCLUDE.sub("", text)
