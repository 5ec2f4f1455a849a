"""The spare cores of this process, on which the code for devices elsewhere is built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tilewright.vocabulary.device import Device
from tilewright_dask.inputs import inputs_from_json
from tilewright_dask.worker.session import Session
from tilewright_dask.worker.station import Station
from tilewright_measure.local.building import build_result_to_json


class BuildStation(Station):
    """Builds, and measures nothing.

    build   {"session", *INPUTS, "building"} -> {"builds"}, INPUTS as in `inputs_to_json`

    Its device is the processor: nothing is built on cores on which another run measures.
    """

    measures = False

    def __init__(self, processor: Device, files: Sequence[Path], *, accepts_plugins: bool) -> None:
        super().__init__(processor, files, accepts_plugins=accepts_plugins)
        self._built = 0

    def state(self) -> dict[str, Any]:
        """`state`, `built`."""
        return {"state": "building" if self._used else "idle", "built": self._built}

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return self.in_session(request, lambda session: self._build(session, request))

    def _build(self, session: Session, request: Mapping[str, Any]) -> dict[str, Any]:
        inputs = inputs_from_json(request)
        builds = session.build(inputs, [None] * len(inputs), request["building"])
        self._built += len(builds)
        return {"builds": [*map(build_result_to_json, builds)]}
