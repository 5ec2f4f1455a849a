"""ONNX Runtime, imported so that it sends nothing."""

from __future__ import annotations

import os
from threading import Lock
from typing import Any

from tilewright.errors import UsageError

_SWITCH = "ORT_DISABLE_TELEMETRY"
"""Read once, while the library is loaded. `disable_telemetry_events()` comes too late: by then
there is an identifier of this machine under the user's cache, and a thread that will send it."""

_lock = Lock()


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
            remedy = "pip install onnxruntime"
            raise UsageError("ONNX Runtime is not installed", remedy=remedy) from None
        finally:
            if before is None:
                del os.environ[_SWITCH]
            else:
                os.environ[_SWITCH] = before
    return onnxruntime
