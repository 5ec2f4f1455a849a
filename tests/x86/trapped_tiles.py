"""Code for AMX as machine code on processors without it: see amx_trap.c."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tilewright_x86.kernel import kernel, loader
from tilewright_x86.machine import isa

_FEATURES = ("amx-tile", "amx-bf16", "amx-int8")


def compiled_trap(folder: Path) -> Path | None:
    """The library that carries the instructions out; None where nothing compiles C."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    source, library = Path(__file__).with_name("amx_trap.c"), folder / "amx_trap.so"
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


def trap_tiles(library: Path) -> Callable[[], int]:
    """From now on this process has AMX; gives how many of its instructions were carried out.

    To be called before anything asks what the process has.
    """
    found = isa.processor_features()
    assert found.isdisjoint(_FEATURES), "nothing traps where there is AMX"
    isa.processor_features = lambda: found.union(_FEATURES)
    isa.grants_tiles, kernel.permit_tiles = lambda: True, lambda: None
    loaded = ctypes.CDLL(str(library))
    block_none = ctypes.cast(loaded.block_none, ctypes.c_void_p).value
    in_process = loader.address_in_process
    loader.address_in_process = lambda name: (
        block_none if name == "pthread_sigmask" else in_process(name)
    )
    assert loaded.trap_instructions() == 0
    executed: Callable[[], int] = loaded.executed_instructions
    loaded.executed_instructions.restype = ctypes.c_long
    return executed
