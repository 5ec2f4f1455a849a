"""The devices of this target on this machine: its GPUs, and their emulation on the processor."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

from tilewright.errors import UsageError
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import DeviceFaultError, FailureKind
from tilewright.vocabulary.target import Target
from tilewright_cuda.driver.driver import DeviceRuntime
from tilewright_cuda.driver.driver_errors import NO_DRIVER, DriverError
from tilewright_cuda.program.arch import ARCHS, DEFAULT, arch_named, arch_of, runs_on
from tilewright_cuda.program.artifact import Contents

EMULATED = "emulated"
_EMULATED_CACHE_BYTES = 1 << 20

# CUdevice_attribute of cuda.h
_ATTRIBUTES = {
    "multiprocessors": 16,
    "clock_khz": 13,
    "memory_clock_khz": 36,
    "memory_bus_bits": 37,
    "l2_bytes": 38,
    "shared_per_block": 97,
}
_MAJOR, _MINOR, _UNIFIED_ADDRESSING = 75, 76, 41


def probe() -> Sequence[Device]:
    """`gpu0`, `gpu1`, ... of the driver, then `emulated` where there is a C++ compiler."""
    return (*gpus(), *_emulated())


def gpus() -> tuple[Device, ...]:
    """The GPUs, none where there is no driver; `no_gpu` tells the reason."""
    try:
        return tuple(_gpu(ordinal) for ordinal in range(_gpu_count()))
    except NO_DRIVER:
        return ()


def no_gpu() -> str | None:
    """Why this machine has no GPU that can be used; None where it has one."""
    try:
        return None if _gpu_count() else "the driver finds none"
    except NO_DRIVER as error:
        return str(error)


def found() -> dict[str, str]:
    """What this machine has, with versions and places: `driver`, `nvrtc`, `nvcc`, `g++`; and
    `passed over`, compilers that cannot be used here, with the reason.
    """
    from tilewright_cuda.compile.compiler import compilers, refusal
    from tilewright_cuda.emulation.compile import COMPILER, compiler_version

    there: dict[str, str] = {}
    if here := gpus():
        side = "ctypes" if _without_pycuda() else "pycuda"
        there["driver"] = f"CUDA {here[0].attributes['cuda_driver']}, called through {side}"
    passed: dict[str, str] = {}
    for one in compilers():
        name, _, number = one.version.partition(" ")
        if reason := refusal(one, DEFAULT):
            passed.setdefault(one.version, f"{one.version} ({one.path}): {reason}")
        else:
            there.setdefault(name, f"{number} ({one.path})")
    if passed:
        there["passed over"] = "; ".join(passed.values())
    if version := compiler_version():
        there[COMPILER] = f"{version}, which compiles what is emulated"
    return there


def missing() -> dict[str, str]:
    """What this machine lacks, and how to get it: `gpu`, `emulated`, `pycuda`, `compiler` or, where
    there is one for other architectures, `compiler for sm_70`.
    """
    from tilewright_cuda.compile.compiler import REMEDY, find_compiler
    from tilewright_cuda.emulation.compile import COMPILER, INSTALL, compiler_version

    found: dict[str, str] = {}
    if why := no_gpu():
        found["gpu"] = why
    if compiler_version() is None:
        found[EMULATED] = f"it compiles kernels with {COMPILER}, which is not installed: {INSTALL}"
    lacking = [arch.name for arch in ARCHS if find_compiler(arch.name) is None]
    if lacking:
        name = "compiler" if len(lacking) == len(ARCHS) else f"compiler for {', '.join(lacking)}"
        found[name] = f"no machine code can be made: {REMEDY}"
    if "gpu" not in found and (why := _without_pycuda()):
        install = "python -m tilewright_cuda.install_pycuda"
        found["pycuda"] = f"ctypes takes its place, {why}; to have it: {install}"
    return found


def l2_bytes(device: Device) -> int:
    """Size of the last cache before memory."""
    return int(device.attributes["l2_bytes"])


def check_target(target: Target, device: Device) -> None:
    """Raise UsageError where machine code for the target does not run on the device."""
    _check_arch(arch_of(target).name, device, f"target {target}")


def check_runs(contents: Contents, device: Device) -> None:
    """Raise UsageError where an artefact cannot be run on a GPU."""
    _check_arch(contents.arch, device, f"artefact for {contents.arch}")
    if any(contents.cubins[launch.module] is None for launch in contents.program.launches):
        from tilewright_cuda.compile.compiler import REMEDY

        raise UsageError(
            f"the artefact holds no machine code: no compiler for {contents.arch} was there",
            remedy=f"{REMEDY}; or pass --device {EMULATED}",
        )


def open_runtime(device: Device) -> DeviceRuntime:
    """The one runtime of this process for a GPU: PyCUDA's, or ctypes' where that is missing.

    Raises UsageError for a name that is no GPU's, DeviceFaultError where it gives no context.
    """
    ordinal = device.name.removeprefix("gpu")
    if not ordinal.isdecimal() or not device.name.startswith("gpu"):
        raise UsageError(
            f"device {device.name!r}: CUDA code runs on gpu0, gpu1, ... or {EMULATED!r}",
            remedy="`tilewright targets` lists those of this machine",
        )
    try:
        return _runtime(int(ordinal))
    except (OSError, DriverError, MemoryError) as error:  # no candidate did that
        raise DeviceFaultError(str(error), FailureKind.DEVICE_LOST) from error


@cache
def _runtime(ordinal: int) -> DeviceRuntime:
    if _without_pycuda():
        from tilewright_cuda.driver.ctypes_driver import CtypesRuntime

        return CtypesRuntime(ordinal)
    from tilewright_cuda.driver.pycuda_driver import PycudaRuntime

    return PycudaRuntime(ordinal)


def _without_pycuda() -> str | None:
    """Why PyCUDA is not what calls the driver; None where it is."""
    if find_spec("pycuda") is None:
        return "it is not installed"
    try:
        import tilewright_cuda.driver.pycuda_driver  # noqa: F401
    except ImportError as error:  # built for another driver
        return f"it does not load: {error}"
    return None


def _check_arch(name: str, device: Device, what: str) -> None:
    capability = device.attributes.get("capability")
    if capability is None or runs_on(arch_named(name, what), tuple(capability)):
        return
    mine = ".".join(map(str, capability))
    raise UsageError(
        f"{what}: {device.name} ({device.attributes['model']}) has compute capability {mine}",
        remedy="cuda:auto picks the architecture of the first GPU",
    )


def _gpu_count() -> int:
    import ctypes

    from tilewright_cuda.driver.libcuda import libcuda

    return int(libcuda().new(ctypes.c_int, "device_count"))


def _gpu(ordinal: int) -> Device:
    import ctypes

    from tilewright_cuda.driver.libcuda import driver_version, libcuda
    from tilewright_cuda.driver.nvml import facts

    cuda = libcuda()
    handle = cuda.new(ctypes.c_int, "device", ordinal)
    name, bus = ctypes.create_string_buffer(256), ctypes.create_string_buffer(32)
    cuda.call("device_name", name, len(name), handle)
    cuda.call("device_bus", bus, len(bus), handle)

    def attribute(number: int) -> int:
        return int(cuda.new(ctypes.c_int, "device_attribute", number, handle))

    attributes: dict[str, Any] = {
        "model": name.value.decode(errors="replace"),
        "capability": [attribute(_MAJOR), attribute(_MINOR)],
        "cuda_driver": ".".join(map(str, driver_version() or ())),
        "memory_bytes": cuda.new(ctypes.c_size_t, "device_memory", handle),
        "unified_addressing": bool(attribute(_UNIFIED_ADDRESSING)),
        **{name: attribute(number) for name, number in _ATTRIBUTES.items()},
        **facts(bus.value.decode()),
    }
    return Device(f"gpu{ordinal}", attributes)


def _emulated() -> tuple[Device, ...]:
    from tilewright_cuda.emulation.compile import compiler_version

    version = compiler_version()
    if version is None:
        return ()
    attributes = {
        "model": "CUDA emulated on the processor",
        "compiler": f"g++ {version}",
        "emulated": True,
        "l2_bytes": _EMULATED_CACHE_BYTES,
    }
    return (Device(EMULATED, attributes),)
