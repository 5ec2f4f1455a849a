"""The one connection of this process to a fleet's scheduler, on a thread of its own."""

from __future__ import annotations

import asyncio
import atexit
import threading
import uuid
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tilewright.errors import UsageError
from tilewright_dask.driver.fleet_device import FleetDevice
from tilewright_dask.driver.fleet_member import FleetMember
from tilewright_dask.driver.fleet_members import members_of
from tilewright_dask.messages import decode, encode
from tilewright_dask.quiet_dask import quiet_dask
from tilewright_dask.security.access import certificates_for, check_address, security_of

if TYPE_CHECKING:
    from distributed import Client, Future

T = TypeVar("T")
_CONNECT_SECONDS = 10.0
_LINKS: dict[tuple[str, Path | None], FleetLink] = {}
_LINKING = threading.Lock()


class FleetLink:
    """A connection that is made when it is first used, and anew when it was lost.

    >>> link = FleetLink.of("tcp://127.0.0.1:8786", None)   # one a process and scheduler
    >>> link.run(link.devices())        # runs a coroutine on the link's thread
    >>> link.run(link.ask(device, {"do": "resolve", "text": "x86"}))

    patterns   by fingerprint, the devices that a run reached last; a runner asks for them again
    """

    def __init__(self, scheduler: str, tls: Path | None) -> None:
        self.scheduler = scheduler
        self.patterns: dict[str, str | None] = {}
        self._security = security_of(tls, "driver")
        self._client: Client | None = None
        self._name, self._numbers = uuid.uuid4().hex, count()
        self._announced: Mapping[str, FleetMember] = {}
        self._connecting: asyncio.Lock | None = None
        self.loop = asyncio.new_event_loop()
        thread = threading.Thread(target=self._serve, name="tilewright-fleet", daemon=True)
        thread.start()
        atexit.register(self.close)

    @classmethod
    def of(cls, scheduler: str, tls: Path | None) -> FleetLink:
        """The link of this process. Raises UsageError for an address that is not safe."""
        tls = certificates_for(scheduler, tls)
        check_address(scheduler, tls)
        with _LINKING:
            known = _LINKS.get((scheduler, tls))
            if known is None:
                known = _LINKS[scheduler, tls] = cls(scheduler, tls)
        return known

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The answer of a coroutine, from any other thread; an interrupt cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Let go of the scheduler; the next use connects again."""
        with suppress(RuntimeError, TimeoutError):
            asyncio.run_coroutine_threadsafe(self._disconnect(), self.loop).result(5)

    async def client(self) -> Client:
        """The client, connected. Raises UsageError where the scheduler does not answer."""
        if self._connecting is None:
            self._connecting = asyncio.Lock()
        async with self._connecting:
            if self._client is None or self._client.status not in ("running", "connecting"):
                self._client = await self._connect()
        return self._client

    async def devices(self) -> list[FleetDevice]:
        """Every device that is announced now. Raises OSError where the scheduler is away."""
        return [one for one in await self.members() if isinstance(one, FleetDevice)]

    async def members(self) -> list[FleetMember]:
        """Every device and builder that is announced now; raises as `devices` does."""
        client = await self.client()
        if client.scheduler is None:
            raise OSError("the scheduler is away")
        found = members_of(await client.scheduler.identity(), self._announced)
        self._announced = {one.address: one for one in found}
        return found

    async def submit(self, member: FleetMember, request: Mapping[str, Any]) -> Future[bytes]:
        """Hand a request to a worker, and to no other."""
        from tilewright_dask.worker.serving import serve

        client = await self.client()
        return client.submit(
            serve,
            encode(request),
            workers=[member.address],
            allow_other_workers=False,
            key=f"serve-{self._name}-{next(self._numbers)}",
            retries=0,
        )

    async def ask(self, device: FleetDevice, request: Mapping[str, Any]) -> dict[str, Any]:
        """The reply of a device, which may tell a mistake. Raises UsageError where it is lost."""
        future = await self.submit(device, request)
        try:
            answer = await reply_of(future)
        finally:
            future.release()
        if isinstance(answer, str):
            raise UsageError(f"it {answer}", where=device.name, remedy="say it again")
        return answer

    async def _connect(self) -> Client:
        quiet_dask()
        from distributed import Client

        try:
            return await Client(
                self.scheduler,
                security=self._security,
                asynchronous=True,
                set_as_default=False,
                timeout=_CONNECT_SECONDS,
            )
        except (OSError, TimeoutError) as error:
            raise UsageError(
                f"no scheduler answers at {self.scheduler}",
                where="scheduler",
                remedy="start one: tilewright fleet scheduler, or tilewright fleet local",
            ) from error

    async def _disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close(2)

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()


async def reply_of(future: Future[bytes]) -> dict[str, Any] | str:
    """The reply to a request; why there is none, where the worker or the scheduler is lost."""
    reply: list[bytes | BaseException] = await asyncio.gather(
        future.result(), return_exceptions=True
    )
    if isinstance(reply[0], BaseException):
        return f"is lost: {type(reply[0]).__name__}: {reply[0]}"
    return decode(reply[0])


async def let_go(future: Future[bytes] | None) -> None:
    """Tell the scheduler that nobody waits for it any more."""
    if future is not None:
        with suppress(Exception):
            await asyncio.wait_for(future.cancel(), 2)
