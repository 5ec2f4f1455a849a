"""A process that looks at this machine's devices: no driver of theirs is loaded anywhere else.

`python -m tilewright_dask.worker.probe`: a request on standard input, the reply on standard output.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.roles import EmulatesTargets
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.target import Target
from tilewright_dask.messages import decode, encode, refusal

_SECONDS = 300.0
"""In which peaks of every precision are measured, and drivers loaded."""


def probe(request: Mapping[str, Any]) -> dict[str, Any]:
    """The reply to a request, from a process of its own.

    devices   {} -> {"devices": [{"kind", "device"}]}
    resolve   {"text"} -> {"target"}
    reach     {"target", "device"} -> {"target", "device"}: complete, and with peaks

    Each has "files", plugin files to load. A reply may tell a mistake. Raises RuntimeError where
    the process fails.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tilewright_dask.worker.probe"],
            input=encode(request),
            capture_output=True,
            check=False,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"looking at the devices took longer than {_SECONDS:g} s") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()[-2000:]
        raise RuntimeError(f"looking at the devices ended with {done.returncode}: {said}")
    return decode(done.stdout)


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """The reply, in this process."""
    try:
        host = PluginHost.load([Path(file) for file in request["files"]])
        if request["do"] == "devices":
            return {"devices": [*_devices(host)]}
        if request["do"] == "resolve":
            return {"target": str(host.resolve_target(request["text"]))}
        return _reach(host, Target.parse(request["target"]), Device.from_json(request["device"]))
    except UsageError as error:
        return refusal(error)


def _devices(host: PluginHost) -> Sequence[dict[str, Any]]:
    found = []
    for kind in host.components("target"):
        devices, _ = host.tried("target", kind, "probe()", host.backend(kind).probe)
        found += [{"kind": kind, "device": device.to_json()} for device in devices or ()]
    return found


def _reach(host: PluginHost, target: Target, device: Device) -> dict[str, Any]:
    from tilewright_pipeline.context.device_peaks import with_peaks

    backend = host.backend(target.kind)
    if device.attributes.get("emulated") and isinstance(backend, EmulatesTargets):
        target = backend.emulated_target(target)
    backend.check_target(target, device)
    found = with_peaks(backend, device, target)
    return {"target": str(target), "device": found.to_json()}


def _main() -> None:
    reply = os.dup(1)
    os.dup2(2, 1)  # what plugins print is no part of it
    with os.fdopen(reply, "wb") as file:
        file.write(encode(answer(decode(sys.stdin.buffer.read()))))


if __name__ == "__main__":
    _main()
