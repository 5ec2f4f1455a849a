"""Reads a GPU's state from NVIDIA's management library. It sets nothing: the GPU may be shared."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

_LIBRARY = "libnvidia-ml.so.1"
_SM_CLOCK, _MEMORY_CLOCK = 1, 2
_TEXT_BYTES = 96


def facts(bus: str) -> dict[str, Any]:
    """Of the GPU at a PCI bus address, what can be had of: `driver`, `power_limit_watts`,
    `max_sm_mhz`, `max_memory_mhz`. Empty without the library.
    """
    library = _library()
    handle = ctypes.c_void_p()
    if library is None or library.nvmlDeviceGetHandleByPciBusId_v2(
        bus.encode(), ctypes.byref(handle)
    ):
        return {}
    found: dict[str, Any] = {}
    text = ctypes.create_string_buffer(_TEXT_BYTES)
    if not library.nvmlSystemGetDriverVersion(text, _TEXT_BYTES):
        found["driver"] = text.value.decode(errors="replace")
    limit = _number(library.nvmlDeviceGetEnforcedPowerLimit, handle)
    if limit is not None:
        found["power_limit_watts"] = limit // 1000
    for name, clock in (("max_sm_mhz", _SM_CLOCK), ("max_memory_mhz", _MEMORY_CLOCK)):
        mhz = _number(library.nvmlDeviceGetMaxClockInfo, handle, clock)
        if mhz is not None:
            found[name] = mhz
    return found


def _number(call: Any, *arguments: Any) -> int | None:
    value = ctypes.c_uint()
    return None if call(*arguments, ctypes.byref(value)) else value.value


@cache
def _library() -> Any:
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError:
        return None
    return None if library.nvmlInit_v2() else library
