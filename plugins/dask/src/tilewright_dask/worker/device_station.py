"""The device of this process, and what is done with it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import MeasureInput
from tilewright_dask.inputs import inputs_from_json
from tilewright_dask.worker.drift import Drift
from tilewright_dask.worker.probe import probe
from tilewright_dask.worker.session import Session
from tilewright_dask.worker.station import Station

_RECENT_SECONDS = 30.0
_FRESH_SECONDS = 0.5
"""A look at the device's speed at the end of a batch is one at the beginning of the next."""


class DeviceStation(Station):
    """Measures on one device.

    measure          {"session", *INPUTS, "artifacts", "building", "reference", "drift"}
                     -> {"seconds", "took"} with {"results", "speed"}, or with {"drift"} where
                     it is slower than usual; the device worked for so many seconds, the reference
                     took so many now, and usually "speed"
    resolve, reach   see `probe`

    INPUTS are the members of `inputs_to_json`.
    """

    measures = True

    def __init__(self, device: Device, files: Sequence[Path], *, accepts_plugins: bool) -> None:
        super().__init__(device, files, accepts_plugins=accepts_plugins)
        self._trials = 0
        self._recent: deque[tuple[float, int]] = deque()
        self._began = time.monotonic()
        self._drift = Drift()
        self._looked = ("", 0.0)  # by which reference its speed was right, and when
        self._aside = False

    def state(self) -> dict[str, Any]:
        """`state`, `trials`, `trials_per_second`, `drift`."""
        since = time.monotonic() - _RECENT_SECONDS
        with self._lock:
            while self._recent and self._recent[0][0] < since:
                self._recent.popleft()
            recent = sum(count for _, count in self._recent)
            seconds = min(_RECENT_SECONDS, time.monotonic() - self._began)
            return {
                "state": "measuring" if self._used else "aside" if self._aside else "idle",
                "trials": self._trials,
                "trials_per_second": recent / max(seconds, 1.0),
                "drift": self._drift.latest,
            }

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        if request["do"] == "measure":
            return self.in_session(request, lambda session: self._timed(session, request))
        files = list(map(str, self._files))
        return probe({**request, "device": self._device.to_json(), "files": files})

    def _timed(self, session: Session, request: Mapping[str, Any]) -> dict[str, Any]:
        began = time.monotonic()
        reply = self._measured(session, request)
        took = self._drift.took if request["reference"] else None
        return {**reply, "seconds": time.monotonic() - began, "took": took}

    def _measured(self, session: Session, request: Mapping[str, Any]) -> dict[str, Any]:
        """The results of a batch, unless the device is slower than usual before or after."""
        if not self._is_itself(session, request, _FRESH_SECONDS):
            return {"drift": self._drift.latest}
        inputs = inputs_from_json(request)
        builds = session.build(inputs, request["artifacts"], request["building"])
        results = session.measure(inputs, builds)
        if not self._is_itself(session, request, 0.0):
            return {"drift": self._drift.latest}
        with self._lock:
            self._trials += len(results)
            self._recent.append((time.monotonic(), len(results)))
        counts = [
            each.artifact.metadata.get("counts", {}) if each.artifact else {} for each in builds
        ]
        return {
            "results": [
                {**result.to_json(), "counts": dict(each)}
                for result, each in zip(results, counts, strict=True)
            ],
            "speed": self._drift.speed(self._looked[0]) if request["reference"] else None,
        }

    def _is_itself(self, session: Session, request: Mapping[str, Any], fresh: float) -> bool:
        """Whether it is as fast as usual; known without a look where that is so long ago."""
        if request["reference"] is None:
            return True
        reference = MeasureInput.from_json(request["reference"])
        key, at = f"{reference.task.key} {reference.config.text}", time.monotonic()
        if self._looked[0] == key and at - self._looked[1] < fresh:
            return True

        def measure() -> float | None:
            builds = session.build([reference], [None], request["building"])
            (result,) = session.measure([reference], builds)
            return min(result.costs, default=None)

        self._aside = self._drift.look(key, measure, request["drift"]) > 0
        self._looked = ("" if self._aside else key, time.monotonic())
        return not self._aside
