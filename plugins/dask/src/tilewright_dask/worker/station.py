"""The device of this process, and what is done with it."""

from __future__ import annotations

import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tilewright.errors import UsageError
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import MeasureInput, MeasureResult
from tilewright_dask.messages import decode, encode, refusal
from tilewright_dask.worker.drift import Drift
from tilewright_dask.worker.plugin_files import plugin_texts
from tilewright_dask.worker.probe import probe
from tilewright_dask.worker.session import Session

_RECENT_SECONDS = 30.0
_SESSIONS = 4
"""Runs that may have processes here at a time; of more, the one that came first is ended."""
_FRESH_SECONDS = 0.5
"""A look at the device's speed at the end of a batch is one at the beginning of the next."""


class Station:
    """Serves the requests of drivers, one at a time, on one device.

    >>> station = Station(device, files=(), accepts_plugins=False)
    >>> station.serve("key", request)   # a reply; on a thread of Dask's
    >>> station.state()                 # {"state": "idle", "trials": 16, ...}; on any thread
    >>> station.keep(wanted)            # ends the sessions that nobody holds any more
    >>> station.close()                 # no process is left

    A session has the key of the request that opened it, and lives as long as that is wanted.
    """

    def __init__(self, device: Device, files: Sequence[Path], *, accepts_plugins: bool) -> None:
        self._device = device
        self._files = [path.resolve() for path in files]
        self._own = plugin_texts(self._files)
        self._accepts_plugins = accepts_plugins
        self._sessions: dict[str, Session] = {}
        self._lock = threading.Lock()
        self._serving = ""  # the key of a request
        self._used = ""  # the key of its session
        self._trials = 0
        self._recent: deque[tuple[float, int]] = deque()
        self._began = time.monotonic()
        self._drift = Drift()
        self._looked = ("", 0.0)  # by which reference its speed was right, and when
        self._aside = False

    def serve(self, key: str, request: bytes) -> bytes:
        """The reply to a request; whatever goes wrong is told in it."""
        try:
            asked = decode(request)
            self._serving = key
            return encode(self._answers[asked["do"]](self, asked, key))
        except UsageError as error:
            return encode(refusal(error))
        except Exception:  # noqa: BLE001  the driver tells it; the worker goes on
            return encode({"failed": traceback.format_exc()[-4000:]})
        finally:
            self._serving = ""

    def state(self) -> dict[str, Any]:
        """What `tilewright fleet ls` shows of the device."""
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

    def keep(self, wanted: Callable[[str], bool]) -> None:
        """End the sessions whose keys are not wanted any more, and one whose request is not."""
        with self._lock:
            unwanted = [key for key in self._sessions if not wanted(key)]
            if self._serving and self._used and not wanted(self._serving):
                unwanted.append(self._used)
            gone = [self._sessions.pop(key) for key in dict.fromkeys(unwanted)]
        for session in gone:
            session.close()

    def close(self) -> None:
        """End every process."""
        self.keep(lambda _: False)

    def _open(self, request: Mapping[str, Any], key: str) -> dict[str, Any]:
        own = self._own
        sent = {name: text for name, text in request["plugins"].items() if own.get(name) != text}
        if sent and not self._accepts_plugins:
            raise UsageError(
                f"it takes no plugin files, and the run has {', '.join(sent)}",
                remedy="start it with --accept-plugins where you trust its drivers, or with "
                "equal files of its own: --plugin",
            )
        files = [path for path in self._files if path.name not in sent]
        session = Session(request, self._device, files, sent)
        with self._lock:
            self._sessions[key] = session
            oldest = [*self._sessions.items()][:-_SESSIONS]
            for name, _ in oldest:
                del self._sessions[name]
        for _, other in oldest:
            other.close()
        return {}

    def _measure(self, request: Mapping[str, Any], key: str) -> dict[str, Any]:
        with self._lock:
            session = self._sessions.get(request["session"])
            self._used = request["session"] if session is not None else ""
        if session is None:
            return {"closed": True}
        try:
            results = self._measured(session, request)
        except Exception:
            if not session.closed:  # else it is but a consequence
                raise
        finally:
            self._used = ""
        if session.closed:
            return {"closed": True}
        if results is None:
            return {"drift": self._drift.latest}
        with self._lock:
            self._trials += len(results)
            self._recent.append((time.monotonic(), len(results)))
        return {"results": [result.to_json() for result in results]}

    def _measured(
        self, session: Session, request: Mapping[str, Any]
    ) -> Sequence[MeasureResult] | None:
        """The results of a batch; None where the device is slower than usual, before or after."""
        if not self._is_itself(session, request, _FRESH_SECONDS):
            return None
        results = session.measure(
            [MeasureInput.from_json(each) for each in request["inputs"]],
            request["artifacts"],
            request["building"],
        )
        return results if self._is_itself(session, request, 0.0) else None

    def _is_itself(self, session: Session, request: Mapping[str, Any], fresh: float) -> bool:
        """Whether it is as fast as usual; known without a look where that is so long ago."""
        if request["reference"] is None:
            return True
        reference = MeasureInput.from_json(request["reference"])
        key, at = f"{reference.task.key} {reference.config.text}", time.monotonic()
        if self._looked[0] == key and at - self._looked[1] < fresh:
            return True

        def measure() -> float | None:
            (result,) = session.measure([reference], [None], request["building"])
            return min(result.costs, default=None)

        self._aside = self._drift.look(key, measure, request["drift"]) > 0
        self._looked = ("" if self._aside else key, time.monotonic())
        return not self._aside

    def _look(self, request: Mapping[str, Any], key: str) -> dict[str, Any]:
        files = list(map(str, self._files))
        return probe({**request, "device": self._device.to_json(), "files": files})

    _answers: Mapping[str, Callable[[Station, Mapping[str, Any], str], dict[str, Any]]] = {
        "open": _open,
        "measure": _measure,
        "resolve": _look,
        "reach": _look,
    }
