"""What a worker's process answers drivers, and the runs that have processes on it."""

from __future__ import annotations

import threading
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from tilewright.errors import UsageError
from tilewright.vocabulary.device import Device
from tilewright_dask.messages import decode, encode, refusal
from tilewright_dask.worker.plugin_files import plugin_texts
from tilewright_dask.worker.session import Session

_SESSIONS = 4
"""Runs that may have processes here at a time."""


class Station(ABC):
    """Serves the requests of drivers, one at a time.

    >>> station.serve("key", request)   # a reply; on a thread of Dask's
    >>> station.state()                 # {"state": "idle", ...}; on any thread
    >>> station.holds_unwanted(wanted)  # whether there are sessions that nobody holds any more
    >>> station.keep(wanted)            # ends them
    >>> station.close()                 # no process is left

    A session has the key of the request that opened it, and lives as long as that is wanted.

    device     which the sessions keep to themselves while they use it
    measures   whether sessions measure, or build alone
    """

    measures: ClassVar[bool]

    def __init__(self, device: Device, files: Sequence[Path], *, accepts_plugins: bool) -> None:
        self._device = device
        self._files = [path.resolve() for path in files]
        self._own = plugin_texts(self._files)
        self._accepts_plugins = accepts_plugins
        self._sessions: dict[str, Session] = {}
        self._lock = threading.Lock()
        self._serving = ""  # the key of a request
        self._used = ""  # the key of its session

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """What `tilewright fleet ls` shows of it."""

    @abstractmethod
    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The reply to a request that opens no session; may raise UsageError."""

    def serve(self, key: str, request: bytes) -> bytes:
        """The reply to a request; whatever goes wrong is told in it."""
        try:
            asked = decode(request)
            self._serving = key
            return encode(self._open(asked, key) if asked["do"] == "open" else self.answer(asked))
        except UsageError as error:
            if isinstance(error.__cause__, OSError):  # such as of a full disk, which may pass
                return encode({"failed": error.message})
            return encode(refusal(error))
        except Exception:  # noqa: BLE001  the driver tells it; the worker goes on
            return encode({"failed": traceback.format_exc()[-4000:]})
        finally:
            self._serving = ""

    def holds_unwanted(self, wanted: Callable[[str], bool]) -> bool:
        """Whether `keep` would end any session; returns at once."""
        with self._lock:
            return bool(self._unwanted(wanted))

    def keep(self, wanted: Callable[[str], bool]) -> None:
        """End the sessions whose keys are not wanted any more, and one whose request is not."""
        with self._lock:
            gone = [self._sessions.pop(key) for key in self._unwanted(wanted)]
        for session in gone:
            session.close()

    def close(self) -> None:
        """End every process."""
        self.keep(lambda _: False)

    def in_session(
        self, request: Mapping[str, Any], work: Callable[[Session], dict[str, Any]]
    ) -> dict[str, Any]:
        """The reply of work in the request's session; `closed` where that is, or meanwhile was."""
        with self._lock:
            session = self._sessions.get(request["session"])
            self._used = request["session"] if session is not None else ""
        if session is None:
            return {"closed": True}
        reply: dict[str, Any] = {}
        try:
            reply = work(session)
        except Exception:
            if not session.closed:  # else it is but a consequence
                raise
        finally:
            self._used = ""
        return {"closed": True} if session.closed else reply

    def _unwanted(self, wanted: Callable[[str], bool]) -> list[str]:
        found = [key for key in self._sessions if not wanted(key)]
        if self._serving and self._used in self._sessions and not wanted(self._serving):
            found.append(self._used)
        return [*dict.fromkeys(found)]

    def _open(self, request: Mapping[str, Any], key: str) -> dict[str, Any]:
        if len(self._sessions) >= _SESSIONS:  # the driver asks again later
            return {"failed": f"it serves {_SESSIONS} runs already"}
        own = self._own
        sent = {name: text for name, text in request["plugins"].items() if own.get(name) != text}
        if sent and not self._accepts_plugins:
            raise UsageError(
                f"it takes no plugin files, and the run has {', '.join(sent)}",
                remedy="start it with --accept-plugins where you trust its drivers, or with "
                "equal files of its own: --plugin",
            )
        files = [path for path in self._files if path.name not in sent]
        session = Session(request, self._device, files, sent, measures=self.measures)
        with self._lock:
            self._sessions[key] = session
        return {}
