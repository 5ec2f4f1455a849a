"""The driver's error codes as the exceptions they mean for a candidate."""

from __future__ import annotations

from tilewright.vocabulary.measure import DeviceFaultError, FailureKind

SUCCESS = 0
NOT_FOUND = 500
OUT_OF_MEMORY = 2
_LAUNCH_TIMEOUT = 702

# The candidate did it. cuda.h on each of these: the process is in an inconsistent state, any
# further work returns the same error, the process must be ended.
_FAULTS = {
    700: "ILLEGAL_ADDRESS",
    710: "ASSERT",
    714: "HARDWARE_STACK_ERROR",
    715: "ILLEGAL_INSTRUCTION",
    716: "MISALIGNED_ADDRESS",
    717: "INVALID_ADDRESS_SPACE",
    718: "INVALID_PC",
    719: "LAUNCH_FAILED",
}

# The device did it, or somebody else: the candidate is measured again.
_LOST = {
    3: "NOT_INITIALIZED",
    4: "DEINITIALIZED",
    46: "DEVICE_UNAVAILABLE",
    201: "INVALID_CONTEXT",
    214: "ECC_UNCORRECTABLE",
    220: "NVLINK_UNCORRECTABLE",
    226: "CONTAINED",
    709: "CONTEXT_IS_DESTROYED",
    802: "SYSTEM_NOT_READY",
    999: "UNKNOWN",
}


class DriverError(RuntimeError):
    """The driver refuses a call; the context lives on. `code` is the CUresult."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


# Not installed, or installed and of no use: no device, another version, a device in bad health.
NO_DRIVER = (OSError, DriverError, DeviceFaultError, MemoryError)


def error_of(code: int, call: str, says: str) -> Exception:
    """The exception of a CUresult.

    MemoryError, DeviceFaultError (a crash, a timeout or a lost device), or DriverError where the
    context can go on.
    """
    text = f"{call}: {says or 'error'} ({code})"
    if code == OUT_OF_MEMORY:
        return MemoryError(text)
    if code == _LAUNCH_TIMEOUT:
        return DeviceFaultError(text, FailureKind.RUN_TIMEOUT)
    if code in _FAULTS:
        return DeviceFaultError(text, FailureKind.CRASH)
    if code in _LOST:
        return DeviceFaultError(text, FailureKind.DEVICE_LOST)
    return DriverError(code, text)
