"""A Dask worker that announces itself, and comes back whenever its scheduler does."""

from __future__ import annotations

import asyncio
import logging
import secrets
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright_dask.listening import listening
from tilewright_dask.messages import ANNOUNCEMENT, STATE
from tilewright_dask.quiet_dask import quiet_dask
from tilewright_dask.worker.serving import STATIONS, is_wanted
from tilewright_dask.worker.station import Station

if TYPE_CHECKING:
    from distributed import Worker
    from distributed.security import Security

_log = logging.getLogger("tilewright")
_LOOK_SECONDS = 0.2
_AGAIN_SECONDS = 1.0
_TELL_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class FleetWorker:
    """Has a station serve whoever drives the fleet of a scheduler.

    name        what the worker's names begin with: each time that it serves it has another, for
                containers on one network may have equal host names and process numbers
    announced   what drivers are told of it
    host        interface to listen on
    say         called with a line for people whenever it comes or goes
    """

    scheduler: str
    name: str
    security: Security
    host: str
    station: Station
    announced: dict[str, Any]
    say: Callable[[str], None]

    async def run(self) -> None:
        """Serve until cancelled; no process is left then."""
        try:
            while True:
                await self._serve_once()
                self.station.close()
                self.say(f"the scheduler {self.scheduler} is away: waiting for it")
                await asyncio.sleep(_AGAIN_SECONDS)
        finally:
            self.station.close()

    async def _serve_once(self) -> None:
        """Serve until the scheduler is lost; one that is not there yet is waited for.

        Raises UsageError for a host to listen on that is not this machine's.
        """
        quiet_dask()
        from distributed import Worker

        name = f"{self.name}-{secrets.token_hex(4)}"
        with tempfile.TemporaryDirectory(prefix="tilewright-dask-") as folder:
            worker = Worker(
                self.scheduler,
                nthreads=1,
                name=name,
                host=self.host,
                security=self.security,
                memory_limit=0,
                local_directory=str(Path(folder)),
                dashboard_address="127.0.0.1:0",  # it has no encryption
                startup_information={ANNOUNCEMENT: lambda _: self.announced},
                metrics={STATE: lambda _: self.station.state()},
            )
            STATIONS[name] = self.station
            watch = asyncio.create_task(self._watch(worker))
            telling = asyncio.get_running_loop().call_later(_TELL_SECONDS, self._tell_that_it_waits)
            try:
                with listening(
                    self.host, option="--host", remedy="name an address of this machine"
                ):
                    await worker
                telling.cancel()
                self.say(f"serving {worker.address}")
                await worker.finished()
            finally:
                telling.cancel()
                self.station.close()
                watch.cancel()
                del STATIONS[name]
                await worker.close(timeout=2, executor_wait=False)

    def _tell_that_it_waits(self) -> None:
        secure = self.scheduler.startswith("tls://")
        why = ", or its certificates are not of the authority of these" if secure else ""
        self.say(f"no scheduler answers at {self.scheduler}{why}: waiting for it")

    async def _watch(self, worker: Worker) -> None:
        """End what nobody waits for any more, as when a driver is gone."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            ending = worker.status.name not in ("init", "running", "paused")

            def wanted(key: str, ending: bool = ending) -> bool:
                return not ending and is_wanted(worker, key)

            if self.station.holds_unwanted(wanted):  # to end processes takes its time
                await asyncio.to_thread(self.station.keep, wanted)
