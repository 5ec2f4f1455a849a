"""The worker process: answers one request after another until its parent is gone.

`python -m tilewright_measure.local.worker REQUESTS REPLIES PARENT MEMORY`: two descriptors, a
process number, bytes. The first message is {"files", "kinds"}, the plugin files and kinds of target
to load at once; then come `build`, `prepare` and `measure`. Whatever candidates print goes to
standard output, never into the protocol.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tilewright.host.plugin_host import PluginHost
from tilewright_measure.worker.confine import confine
from tilewright_measure.worker.frames import FrameBuffer, receive, send

Message = Mapping[str, Any]

_ALLOCATIONS = 100_000
"""New objects between two searches for garbage; by default 700."""


def main(requests: int, replies: int, parent: int, memory_bytes: int) -> None:
    """Serve until the pipe closes."""
    for descriptor in (requests, replies):
        os.set_inheritable(descriptor, False)
    confine(parent, memory_bytes)
    buffer = FrameBuffer()
    hello = receive(requests, buffer)
    if hello is None:
        return
    answer = _load(hello)
    send(replies, {})
    while (request := receive(requests, buffer)) is not None:
        reply = answer[request["do"]](request)
        send(replies, reply)
        if reply.get("last"):
            os._exit(1)  # not through destructors: they would ask a device that answers no more


def _load(hello: Message) -> dict[str, Callable[[Message], Message]]:
    from tilewright_measure.local.building import build
    from tilewright_measure.local.measuring import Measurer

    host = PluginHost.load([Path(file) for file in hello["files"]])
    for kind in hello["kinds"]:
        host.backend(kind)
    measurer = Measurer(host)
    # Loop programs are trees and go without a search for cycles: searching took a tenth of the time
    # in which they are made.
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS)
    return {
        "build": lambda request: build(host, request),
        "prepare": measurer.prepare,
        "measure": measurer.measure,
    }


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
