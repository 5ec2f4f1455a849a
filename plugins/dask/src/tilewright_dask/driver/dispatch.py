"""Hands batches to the devices of a fleet, and follows who comes and goes."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tilewright.errors import UsageError
from tilewright.vocabulary.measure import FailureKind, MeasureInput
from tilewright_dask.driver.batch import Batch
from tilewright_dask.driver.fleet_device import FleetDevice
from tilewright_dask.driver.fleet_link import FleetLink, reply_of
from tilewright_dask.driver.seat import Seat
from tilewright_dask.messages import told_mistake

if TYPE_CHECKING:
    from distributed import Future

    from tilewright_dask.driver.options import DaskRunnerOptions

_log = logging.getLogger("tilewright")
_LOOK_SECONDS = 0.5
_LOOK_SECONDS_EACH = 0.005  # what the scheduler tells of a large fleet is long
_MOST_LOSSES, _MOST_SLOWNESS = 2, 5
_ASIDE_SECONDS = 10.0


class Dispatch:
    """A queue of batches and the devices that take them; everything runs on the link's thread.

    >>> dispatch = Dispatch(link, opening, wants, check, options)
    >>> link.run(dispatch.begin())     # the first device is there
    >>> dispatch.add(batch)            # any thread; its futures get results
    >>> link.run(dispatch.end())       # what has no result is cancelled, nothing is left running

    opening   the request that opens a session on a device
    wants     which devices this run uses
    check     raises UsageError for one whose plugins differ
    """

    def __init__(
        self,
        link: FleetLink,
        opening: Mapping[str, Any],
        wants: Callable[[FleetDevice], bool],
        check: Callable[[FleetDevice], None],
        options: DaskRunnerOptions,
    ) -> None:
        self._link = link
        self._opening = opening
        self._wants = wants
        self._check = check
        self._wait_seconds, self._drift = options.wait_seconds, options.drift
        self._reference: MeasureInput | None = None
        self._queue: deque[Batch] = deque()
        self._seats: dict[str, Seat] = {}
        self._left_out: dict[str, UsageError] = {}  # by address
        self._silent: dict[str, float] = {}  # when the scheduler had last heard of them
        self._homes: dict[frozenset[tuple[str, str]], str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._served = time.monotonic()  # when a device was last ready
        self._ended = False

    @property
    def takes(self) -> int:
        """How many batches all devices together take at a time."""
        return sum(seat.takes for seat in [*self._seats.values()] if seat.serves)

    @property
    def devices(self) -> list[FleetDevice]:
        """Those of the run that are there."""
        return [seat.device for seat in [*self._seats.values()]]

    async def begin(self) -> None:
        """Wait for a device. Raises UsageError where none comes, or none can be used."""
        self._spawn(self._follow())
        began = time.monotonic()
        while not self.takes:
            if self._left_out and not self._seats:
                raise next(iter(self._left_out.values()))
            if time.monotonic() - began > self._wait_seconds:
                raise UsageError(
                    f"{self._link.scheduler} has no device of the run's, for "
                    f"{self._wait_seconds:g} s",
                    remedy="`tilewright fleet ls` shows what there is",
                )
            await asyncio.sleep(0.05)

    def add(self, batch: Batch) -> None:
        """Have a batch measured; from any thread."""

        def put() -> None:
            if self._ended:
                batch.fail(FailureKind.CANCELLED, "measuring was stopped")
                return
            self._queue.append(batch)
            self._assign()

        self._link.loop.call_soon_threadsafe(put)

    async def end(self) -> None:
        """Cancel what has no result, and have the workers end their processes."""
        self._ended = True
        for task in self._tasks:
            task.cancel()
        waiting = [*self._queue, *(batch for seat in self._seats.values() for batch in seat.flying)]
        self._queue.clear()
        for batch in waiting:
            batch.fail(FailureKind.CANCELLED, "measuring was stopped")
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(_drop(seat.session) for seat in self._seats.values()))
        self._seats.clear()

    # --- who is there ----------------------------------------------------------------------------

    async def _follow(self) -> None:
        while True:
            try:
                devices = await self._link.devices()
            except (OSError, UsageError):  # the scheduler is away, and all devices with it
                devices = []
            self._note({one.address: one for one in devices if self._wants(one)})
            self._assign()
            self._give_up()
            await asyncio.sleep(max(_LOOK_SECONDS, len(devices) * _LOOK_SECONDS_EACH))

    def _note(self, devices: Mapping[str, FleetDevice]) -> None:
        for address, device in devices.items():
            seat = self._seats.get(address)
            if seat is not None:
                seat.hear(device)
                if seat.silent:
                    self._silent[address] = device.seen
                    self._lose(seat, "gives no sign of life")
            elif address not in self._left_out and self._silent.get(address) != device.seen:
                self._take(device)
        for address in self._seats.keys() - devices.keys():
            self._lose(self._seats[address], "is gone")
        if self.takes:
            self._served = time.monotonic()

    def _take(self, device: FleetDevice) -> None:
        try:
            self._check(device)
        except UsageError as error:
            self._leave_out(device, error)
            return
        seat = self._seats[device.address] = Seat(device)
        self._spawn(self._open(seat))

    def _leave_out(self, device: FleetDevice, error: UsageError) -> None:
        self._left_out[device.address] = error
        self._seats.pop(device.address, None)
        if self._seats:  # else it is told where nothing else can be done
            _log.warning("left out: %s", " ".join(str(error).split()))

    async def _open(self, seat: Seat) -> None:
        answer = await self._answer(seat, self._opening, holds=True)
        if isinstance(answer, str):
            self._lose(seat, answer)
            return
        if (error := told_mistake(answer, seat.name)) is not None:
            self._leave_out(seat.device, error)
            return
        seat.ready = True
        self._assign()

    def _lose(self, seat: Seat, why: str) -> None:
        if self._seats.pop(seat.device.address, None) is not None:
            _log.warning("%s %s; what it was measuring is measured elsewhere", seat.name, why)
        seat.ready = False
        seat.gone.set()
        self._spawn(_drop(seat.session))

    # --- who gets what ---------------------------------------------------------------------------

    def _assign(self) -> None:
        for batch in [*self._queue]:
            seat = self._seat_for(batch)
            if seat is not None:
                self._queue.remove(batch)
                seat.flying.add(batch)
                if (turn := batch.turn) is not None:
                    self._homes[turn] = seat.device.address
                self._spawn(self._fly(seat, batch))

    def _seat_for(self, batch: Batch) -> Seat | None:
        seats = [seat for seat in self._seats.values() if seat.serves]
        seats = [seat for seat in seats if seat.name not in batch.tried] or seats
        turn = batch.turn
        home = self._seats.get(self._homes.get(turn, "")) if turn is not None else None
        if home is not None and home in seats:
            seats = [home]
        free = [seat for seat in seats if seat.free]
        return min(free, key=lambda seat: len(seat.flying), default=None)

    async def _fly(self, seat: Seat, batch: Batch) -> None:
        assert seat.session is not None
        answer = await self._answer(seat, self._request(seat.session.key, batch))
        seat.flying.discard(batch)
        if isinstance(answer, str):
            self._lose(seat, answer)  # it is opened anew where it is still announced
            batch.losses += 1
            self._again(batch, seat, answer)
        elif "results" in answer:
            batch.finish(answer["results"], seat.name)
            self._reference = self._reference or batch.reference
        elif "drift" in answer:
            self._set_aside(seat, answer["drift"])
            batch.slowness += 1
            self._again(batch, seat, f"is slower than usual by {answer['drift']:.0%}")
        elif answer.get("closed"):
            self._lose(seat, "has ended the run's processes")
            batch.losses += 1
            self._again(batch, seat, "its processes were ended")
        else:
            text = answer.get("failed") or str(answer)
            batch.fail(FailureKind.INTERNAL, text, seat.name)
        self._assign()

    def _request(self, session: str, batch: Batch) -> dict[str, Any]:
        return {**batch.request(session, self._reference), "drift": self._drift}

    def _set_aside(self, seat: Seat, drift: float) -> None:
        _log.warning(
            "%s is slower than usual by %.0f %%: it is set aside for %.0f s, and what it measured "
            "since is measured again",
            seat.name,
            100 * drift,
            _ASIDE_SECONDS,
        )
        seat.aside_until = time.monotonic() + _ASIDE_SECONDS

    def _again(self, batch: Batch, seat: Seat, why: str) -> None:
        """Put a batch back in the queue that a device did not measure, not for ever."""
        batch.tried.add(seat.name)
        if batch.losses < _MOST_LOSSES and batch.slowness < _MOST_SLOWNESS:
            self._queue.appendleft(batch)
        else:
            batch.fail(FailureKind.DEVICE_LOST, f"{seat.name} {why}", seat.name)

    async def _answer(
        self, seat: Seat, request: Mapping[str, Any], *, holds: bool = False
    ) -> dict[str, Any] | str:
        """A device's reply; why there is none, where it is lost."""
        try:
            future = await self._link.submit(seat.device, request)
        except (OSError, UsageError) as error:
            return str(error)
        if holds:
            seat.session = future
        reply = asyncio.ensure_future(reply_of(future))
        gone = asyncio.ensure_future(seat.gone.wait())
        try:
            await asyncio.wait({reply, gone}, return_when=asyncio.FIRST_COMPLETED)
            return reply.result() if reply.done() else "is gone"
        finally:
            reply.cancel()
            gone.cancel()
            if not holds:
                await _drop(future)

    def _give_up(self) -> None:
        """Tell the batches in the queue that no device came in time."""
        if self._seats or time.monotonic() - self._served < self._wait_seconds:
            return
        while self._queue:
            text = f"no device at {self._link.scheduler} for {self._wait_seconds:g} s"
            self._queue.popleft().fail(FailureKind.DEVICE_LOST, text)

    def _spawn(self, work: Any) -> None:
        task = self._link.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _drop(future: Future[bytes] | None) -> None:
    """Tell the scheduler that nobody waits for it any more."""
    if future is not None:
        with suppress(Exception):
            await asyncio.wait_for(future.cancel(), 2)
