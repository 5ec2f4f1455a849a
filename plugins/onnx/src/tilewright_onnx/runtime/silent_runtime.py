"""ONNX Runtime, imported so that it sends nothing."""

from __future__ import annotations

import os
from importlib.util import find_spec
from threading import Lock
from typing import Any

from tilewright.errors import UsageError
from tilewright.plugins.loading.distributions import installer

_SWITCH = "ORT_DISABLE_TELEMETRY"
"""Read once, while the library is loaded. `disable_telemetry_events()` comes too late: by then
there is an identifier of this machine under the user's cache, and a thread that will send it."""

_ABSENT = "ONNX Runtime is not installed"

_lock = Lock()


def what_runtime_lacks() -> str:
    """That ONNX Runtime is absent and how to get it; empty where it is installed."""
    return "" if find_spec("onnxruntime") else f"{_ABSENT}: {_how_to_install()}"


def import_onnxruntime() -> Any:
    """The module `onnxruntime`, its telemetry off; `os.environ` is as it was afterwards.

    What a program that imported it earlier by itself has begun, cannot be ended. Raises UsageError
    where it is not installed.
    """
    with _lock:
        before = os.environ.get(_SWITCH)
        os.environ[_SWITCH] = "1"
        try:
            import onnxruntime
        except ModuleNotFoundError:
            raise UsageError(_ABSENT, remedy=_how_to_install()) from None
        finally:
            if before is None:
                del os.environ[_SWITCH]
            else:
                os.environ[_SWITCH] = before
    return onnxruntime


def _how_to_install() -> str:
    return f"{installer()} install onnxruntime"
