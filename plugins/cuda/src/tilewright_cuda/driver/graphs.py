"""CUDA graphs: a list of launches that the driver replays at once. PyCUDA has no calls for them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from tilewright_cuda.driver.libcuda import LibCuda

_THREAD_LOCAL = 1  # CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: other threads may go on allocating
_NEEDED = ("begin_capture", "end_capture", "instantiate", "upload_graph", "launch_graph")


class _Graph:
    """An instantiated graph; calling it replays it on its stream."""

    def __init__(self, cuda: LibCuda, graph: int, stream: Any) -> None:
        self._cuda, self._stream = cuda, stream
        self._exec = cuda.new(ctypes.c_void_p, "instantiate", graph, 0)
        cuda.call("upload_graph", self._exec, stream)  # or the first replay would, and take longer

    def __call__(self) -> None:
        self._cuda.call("launch_graph", self._exec, self._stream)

    def __del__(self) -> None:
        if hasattr(self, "_exec"):
            self._cuda.function("destroy_graph_exec")(self._exec)


def capture_graph(
    cuda: LibCuda, stream: Any, enqueue: Callable[[], None]
) -> Callable[[], None] | None:
    """What `enqueue` launches on the stream, to be replayed; None where the driver cannot."""
    if not all(cuda.has(name) for name in _NEEDED):
        return None
    cuda.call("begin_capture", stream, _THREAD_LOCAL)
    graph = ctypes.c_void_p()
    try:
        enqueue()
    finally:
        code = cuda.function("end_capture")(stream, ctypes.byref(graph))
    if code:
        raise cuda.error(code, "end_capture")
    try:
        return _Graph(cuda, graph.value or 0, stream)
    finally:
        cuda.function("destroy_graph")(graph)
