"""The CUDA driver's library, as ctypes sees it."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from tilewright_cuda.driver.driver_errors import (
    NO_DRIVER,
    NOT_FOUND,
    SUCCESS,
    DriverError,
    error_of,
)

_LIBRARY = "libcuda.so.1"
_P, _I, _U, _Z = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint, ctypes.c_size_t
_ADDRESS = ctypes.c_uint64

# Name in the library and parameters. The suffix is the version of the interface in cuda.h.
_CALLS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "init": ("cuInit", (_U,)),
    "driver_version": ("cuDriverGetVersion", (_P,)),
    "device_count": ("cuDeviceGetCount", (_P,)),
    "device": ("cuDeviceGet", (_P, _I)),
    "device_name": ("cuDeviceGetName", (_P, _I, _I)),
    "device_attribute": ("cuDeviceGetAttribute", (_P, _I, _I)),
    "device_memory": ("cuDeviceTotalMem_v2", (_P, _I)),
    "device_bus": ("cuDeviceGetPCIBusId", (_P, _I, _I)),
    "retain_context": ("cuDevicePrimaryCtxRetain", (_P, _I)),
    "set_context": ("cuCtxSetCurrent", (_P,)),
    "context": ("cuCtxGetCurrent", (_P,)),
    "synchronize": ("cuCtxSynchronize", ()),
    "load_module": ("cuModuleLoadData", (_P, ctypes.c_char_p)),
    "unload_module": ("cuModuleUnload", (_P,)),
    "function": ("cuModuleGetFunction", (_P, _P, ctypes.c_char_p)),
    "set_attribute": ("cuFuncSetAttribute", (_P, _I, _I)),
    "allocate": ("cuMemAlloc_v2", (_P, _Z)),
    "free": ("cuMemFree_v2", (_ADDRESS,)),
    "upload": ("cuMemcpyHtoD_v2", (_ADDRESS, _P, _Z)),
    "download": ("cuMemcpyDtoH_v2", (_P, _ADDRESS, _Z)),
    "copy": ("cuMemcpyDtoDAsync_v2", (_ADDRESS, _ADDRESS, _Z, _P)),
    "fill": ("cuMemsetD32Async", (_ADDRESS, _U, _Z, _P)),
    "stream": ("cuStreamCreate", (_P, _U)),
    "launch": ("cuLaunchKernel", (_P, *(7 * (_U,)), _P, _P, _P)),
    "event": ("cuEventCreate", (_P, _U)),
    "record": ("cuEventRecord", (_P, _P)),
    "wait": ("cuEventSynchronize", (_P,)),
    "elapsed": ("cuEventElapsedTime", (_P, _P, _P)),
    "destroy_event": ("cuEventDestroy_v2", (_P,)),
    "begin_capture": ("cuStreamBeginCapture_v2", (_P, _I)),
    "end_capture": ("cuStreamEndCapture", (_P, _P)),
    "instantiate": ("cuGraphInstantiateWithFlags", (_P, _P, ctypes.c_ulonglong)),
    "upload_graph": ("cuGraphUpload", (_P, _P)),
    "launch_graph": ("cuGraphLaunch", (_P, _P)),
    "destroy_graph": ("cuGraphDestroy", (_P,)),
    "destroy_graph_exec": ("cuGraphExecDestroy", (_P,)),
}


class LibCuda:
    """Calls by their names in the table above, each of which raises what its result code means.

    >>> cuda.call("init", 0)
    >>> cuda.new(ctypes.c_int, "device", 0)   # what a call writes through its first parameter
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self._functions: dict[str, Any] = {}
        for name, (symbol, parameters) in _CALLS.items():
            found = getattr(library, symbol, None)
            if found is not None:
                found.argtypes, found.restype = parameters, ctypes.c_int
                self._functions[name] = found

    def has(self, name: str) -> bool:
        """Whether this driver has a call."""
        return name in self._functions

    def function(self, name: str) -> Any:
        """The bare function, for where a call must cost little; its result is not looked at.

        Raises DriverError where this driver does not know the call.
        """
        try:
            return self._functions[name]
        except KeyError:
            text = f"{_LIBRARY} has no {_CALLS[name][0]}: the driver is too old, or damaged"
            raise DriverError(NOT_FOUND, text) from None

    def call(self, name: str, *arguments: Any) -> None:
        """Raises MemoryError, DriverError or DeviceFaultError."""
        code = self.function(name)(*arguments)
        if code != SUCCESS:
            raise self.error(code, name)

    def new(self, kind: Any, name: str, *arguments: Any) -> Any:
        """The value that a call writes through its first parameter."""
        made = kind()
        self.call(name, ctypes.byref(made), *arguments)
        return made.value

    def error(self, code: int, name: str) -> Exception:
        """The exception of a result code."""
        text = ctypes.c_char_p()
        if tells := getattr(self._library, "cuGetErrorString", None):
            tells(code, ctypes.byref(text))
        return error_of(code, _CALLS[name][0], (text.value or b"").decode(errors="replace"))


def driver_version() -> tuple[int, int] | None:
    """The version of CUDA that the driver was made for, None where it does not tell.

    Asks nothing of a device, so that processes which only compile may ask.
    """
    try:
        number = LibCuda(ctypes.CDLL(_LIBRARY)).new(_I, "driver_version")
    except NO_DRIVER:
        return None
    return number // 1000, number % 1000 // 10


@cache
def libcuda() -> LibCuda:
    """The driver, initialised.

    Raises one of NO_DRIVER where it is not installed or unusable.
    """
    cuda = LibCuda(ctypes.CDLL(_LIBRARY))
    cuda.call("init", 0)
    return cuda
