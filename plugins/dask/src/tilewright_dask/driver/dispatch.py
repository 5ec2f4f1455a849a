"""Hands batches to the devices of a fleet, and follows who comes and goes."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tilewright.errors import UsageError
from tilewright.vocabulary.measure import FailureKind, MeasureInput
from tilewright_dask.driver.batch import Batch
from tilewright_dask.driver.fleet_builder import FleetBuilder, undisturbing
from tilewright_dask.driver.fleet_device import FleetDevice
from tilewright_dask.driver.fleet_link import FleetLink, let_go, reply_of
from tilewright_dask.driver.fleet_member import FleetMember
from tilewright_dask.driver.seat import MOST_FLYING, M, Seat
from tilewright_dask.fleet_log import FleetLog
from tilewright_dask.messages import told_mistake
from tilewright_measure.worker.failures import failure_of

if TYPE_CHECKING:
    from tilewright_dask.driver.options import DaskRunnerOptions

_log = logging.getLogger("tilewright")
_LOOK_SECONDS = 0.5
_LOOK_SECONDS_EACH = 0.02  # what the scheduler tells of a large fleet is long
_MOST_LOOK_SECONDS = 5.0  # a third of the time in which a silent device counts as lost
_MOST_LOSSES, _MOST_SLOWNESS = 2, 8


class Dispatch:
    """A queue of batches, and the devices and builders that take them, on the link's thread.

    >>> dispatch = Dispatch(link, opening, wants, check, options)
    >>> link.run(dispatch.begin())     # the first device is there
    >>> dispatch.add(batch)            # any thread; its futures get results
    >>> link.run(dispatch.end())       # what has no result is cancelled, nothing is left running

    A bug in handling a batch costs that batch, as `internal`. Any other ends them all: `begin` and
    `add` raise it.

    opening   the request that opens a session on a device
    wants     which devices this run uses
    check     raises UsageError for a device or a builder whose plugins differ

    What is yet to be built goes to a builder that has nothing to do, else to a device that has
    nothing to do, which builds it as well; where neither is, to a builder that has room. Without
    builders, the devices build.
    """

    def __init__(
        self,
        link: FleetLink,
        opening: Mapping[str, Any],
        wants: Callable[[FleetDevice], bool],
        check: Callable[[FleetMember], None],
        options: DaskRunnerOptions,
    ) -> None:
        self.log = FleetLog()
        self._link = link
        self._opening = opening
        self._wants = wants
        self._check = check
        self._wait_seconds, self._drift = options.wait_seconds, options.drift
        self._reference: MeasureInput | None = None
        self._batches: set[Batch] = set()  # all that lack results, wherever they are
        self._queue: deque[Batch] = deque()
        self._seats: dict[str, Seat[FleetDevice]] = {}
        self._builders: dict[str, Seat[FleetBuilder]] = {}
        self._builds = False  # whether this run's batches come unbuilt
        self._left_out: dict[str, UsageError] = {}  # by address
        self._disturbing: set[str] = set()  # addresses of builders of which that was told
        self._silent: dict[str, float] = {}  # when the scheduler had last heard of them
        self._homes: dict[tuple[str, str], str] = {}  # addresses, by candidates run in turns
        self._tasks: set[asyncio.Task[None]] = set()
        self._served = time.monotonic()  # when a device was last ready
        self._stopped: tuple[FailureKind, str] | None = None
        self._bug: Exception | None = None

    @property
    def takes(self) -> int:
        """How many batches all devices take at a time, and one a builder that has work."""
        devices = MOST_FLYING * sum(seat.serves for seat in [*self._seats.values()])
        if not devices or not self._builds:
            return devices
        return devices + sum(seat.serves for seat in [*self._builders.values()])

    @property
    def devices(self) -> list[FleetDevice]:
        """Those of the run that are there."""
        return [seat.member for seat in [*self._seats.values()]]

    @property
    def members(self) -> list[FleetMember]:
        """Its devices and builders that are there."""
        return [*self.devices, *(seat.member for seat in [*self._builders.values()])]

    async def begin(self) -> None:
        """Wait for a device. Raises UsageError where none comes, or none can be used."""
        self._spawn(self._follow())
        began = time.monotonic()
        while not self.takes:
            if self._bug is not None:
                raise self._bug
            failed = (seat.failed for seat in self._seats.values())
            errors = [*self._left_out.values(), *filter(None, failed)]
            if errors and not self._hopeful:
                raise errors[0]
            if time.monotonic() - began > self._wait_seconds:
                raise UsageError(
                    f"{self._link.scheduler} has no device of the run's, for "
                    f"{self._wait_seconds:g} s",
                    remedy="`tilewright fleet ls` shows what there is",
                )
            await asyncio.sleep(0.05)

    def add(self, batch: Batch) -> None:
        """Have a batch measured; from any thread."""
        if self._bug is not None:
            raise RuntimeError("nobody hands out batches any more") from self._bug

        def put() -> None:
            if self._stopped is not None:
                batch.fail(*self._stopped)
                return
            self._batches.add(batch)
            self._queue.append(batch)
            self._builds |= batch.unbuilt
            self._assign()

        self._link.loop.call_soon_threadsafe(put)

    async def end(self) -> None:
        """Cancel what has no result, and have the workers end their processes."""
        self._stop(FailureKind.CANCELLED, "measuring was stopped")
        seats: list[Seat[Any]] = [*self._seats.values(), *self._builders.values()]
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(let_go(seat.session) for seat in seats))
        self._seats.clear()
        self._builders.clear()

    def _stop(self, kind: FailureKind, why: str) -> None:
        """Do nothing more: whatever has no result fails, and what comes from now on."""
        self._stopped = kind, why
        for task in self._tasks:
            task.cancel()
        self._queue.clear()
        for batch in self._batches:
            batch.fail(kind, why)
        self._batches.clear()

    # --- who is there ----------------------------------------------------------------------------

    async def _follow(self) -> None:
        while True:
            try:
                members = await self._link.members()
            except (OSError, UsageError):  # the scheduler is away, and all devices with it
                members = []
            devices = [one for one in members if isinstance(one, FleetDevice)]
            self._note(self._seats, [one for one in devices if self._wants(one)])
            if self._seats:  # a builder is checked for the kind of their targets
                builders = undisturbing(members, devices, self._disturbing)
                self._note(self._builders, builders)
            self._assign()
            self._give_up()
            seconds = len(members) * _LOOK_SECONDS_EACH
            await asyncio.sleep(min(max(_LOOK_SECONDS, seconds), _MOST_LOOK_SECONDS))

    def _note(self, seats: dict[str, Seat[M]], members: Sequence[M]) -> None:
        """Take those that came, and lose those that are gone or silent."""
        for member in members:
            address = member.address
            seat = seats.get(address)
            if seat is not None:
                seat.hear(member)
                if seat.silent:
                    self._silent[address] = member.seen
                    self._lose(seat, "gives no sign of life")
            elif address not in self._left_out and self._silent.get(address) != member.seen:
                self._take(seats, member)
        for address in seats.keys() - {member.address for member in members}:
            self._lose(seats[address], "is gone")
        if self.takes:
            self._served = time.monotonic()

    def _take(self, seats: dict[str, Seat[M]], member: M) -> None:
        try:
            self._check(member)
        except UsageError as error:
            self._leave_out(member, error)
            return
        seat = seats[member.address] = Seat(member)
        self._spawn(self._open(seat))

    def _leave_out(self, member: FleetMember, error: UsageError) -> None:
        self._left_out[member.address] = error
        for seats in (self._seats, self._builders):
            seats.pop(member.address, None)
        if self._hopeful:  # as for `_set_aside`
            _log.warning("left out: %s", " ".join(str(error).split()))

    def _forget(self, seat: Seat[Any]) -> bool:
        """Whether it had its place still: another may have it since, of the same member."""
        address = seat.member.address
        for seats in (self._seats, self._builders):
            if seats.get(address) is seat:
                del seats[address]
                return True
        return False

    async def _open(self, seat: Seat[Any]) -> None:
        while not (seat.ready or seat.gone.is_set()):
            answer = await self._answer(seat, self._opening, holds=True)
            if isinstance(answer, str):
                self._lose(seat, answer)
                return
            seat.failed = told_mistake(answer, seat.name)
            if seat.failed is None:
                seat.ready = True
            elif "refused" in answer:
                self._leave_out(seat.member, seat.failed)
                return
            else:
                await let_go(seat.session)
                seconds = self._set_aside(seat, f"is not used yet: {seat.failed.message}")
                with suppress(TimeoutError):
                    await asyncio.wait_for(seat.gone.wait(), seconds)
        self._assign()

    def _set_aside(self, seat: Seat[Any], why: str) -> float:
        seconds = seat.set_aside()
        if self._hopeful:  # else it is told where nothing else can be done
            _log.warning("%s %s; it is set aside for %.0f s", seat.name, why, seconds)
        return seconds

    @property
    def _hopeful(self) -> bool:
        """Whether a device serves, or may soon."""
        return any(seat.failed is None for seat in self._seats.values())

    def _lose(self, seat: Seat[Any], why: str) -> None:
        if self._forget(seat):
            _log.warning("%s %s; its batches go elsewhere", seat.name, why)
        seat.ready = False
        seat.gone.set()
        self._spawn(let_go(seat.session))

    # --- who gets what ---------------------------------------------------------------------------

    def _assign(self) -> None:
        for batch in [*self._queue]:
            seat = self._place_for(batch)
            if seat is None:
                continue
            self._queue.remove(batch)
            seat.flying.add(batch)
            if isinstance(seat.member, FleetDevice):
                self._homes.update(dict.fromkeys(batch.in_turns, seat.member.address))
            self._spawn(self._hand(seat, batch))

    def _place_for(self, batch: Batch) -> Seat[Any] | None:
        """Who has it next; what is unbuilt goes to a device only where that has nothing to do."""
        seat = self._seat_for(batch)
        builders = [one for one in self._builders.values() if one.serves and batch.unbuilt]
        if not builders:
            return seat
        builder = min(builders, key=lambda one: len(one.flying))
        if builder.flying and seat is not None and not seat.flying:
            return seat
        return builder if builder.free else None

    def _seat_for(self, batch: Batch) -> Seat[FleetDevice] | None:
        seats = [seat for seat in self._seats.values() if seat.serves]
        if batch.tried:
            seats = [seat for seat in seats if seat.name not in batch.tried] or seats
        if batch.in_turns:
            homes = {self._homes.get(each) for each in batch.in_turns}
            seats = [seat for seat in seats if seat.member.address in homes] or seats
        free = [seat for seat in seats if seat.free]
        return min(free, key=lambda seat: len(seat.flying), default=None)

    async def _hand(self, seat: Seat[Any], batch: Batch) -> None:
        try:
            if isinstance(seat.member, FleetBuilder):
                await self._build(seat, batch)
            else:
                await self._fly(seat, batch)
        except Exception as error:  # noqa: BLE001  a bug here must leave no caller waiting
            failure = failure_of(error, FailureKind.INTERNAL)
            batch.fail(failure.kind, failure.text, seat.name)
        finally:
            seat.flying.discard(batch)
            if batch.over:
                self._batches.discard(batch)
        self._assign()

    async def _build(self, builder: Seat[FleetBuilder], batch: Batch) -> None:
        assert builder.session is not None
        answer = await self._answer(builder, batch.build_request(builder.session.key))
        batch.offered = True
        if isinstance(answer, str):
            self._lose(builder, answer)
            self.log.builder_faults[builder.name]["builder_lost"] += 1
        elif (error := told_mistake(answer, builder.name)) is not None:
            self._set_aside(builder, error.message)
            self.log.builder_faults[builder.name]["internal"] += 1
        else:
            builder.prove()
            batch.take_builds(answer["builds"])
        if batch.candidates:
            self._queue.appendleft(batch)

    async def _fly(self, seat: Seat[FleetDevice], batch: Batch) -> None:
        assert seat.session is not None
        answer = await self._answer(seat, self._request(seat.session.key, batch))
        if isinstance(answer, str):
            self._lose(seat, answer)  # it is opened anew where it is still announced
            batch.losses += 1
            self._again(batch, seat, "device_lost", answer)
        elif (drift := seat.drift_told(answer, self._seats.values(), self._drift)) is not None:
            self.log.note_use(seat.name, answer)
            if seat.serves:  # else the batch beside this one has told it
                self._set_aside(seat, f"{drift}: what it measured since is measured again")
            batch.slowness += 1
            self._again(batch, seat, "drift", drift)
        elif "results" in answer:
            self.log.note_use(seat.name, answer)
            seat.prove()
            batch.finish(answer["results"], seat.name)
            self._reference = self._reference or batch.reference
        else:
            batch.losses += 1
            self._again(batch, seat, "internal", answer.get("failed") or str(answer))

    def _request(self, session: str, batch: Batch) -> dict[str, Any]:
        return {**batch.request(session, self._reference), "drift": self._drift}

    def _again(self, batch: Batch, seat: Seat[FleetDevice], fault: str, why: str) -> None:
        """Put a batch back in the queue that a device did not measure, not for ever."""
        self.log.device_faults[seat.name][fault] += 1
        batch.tried.add(seat.name)
        if batch.losses < _MOST_LOSSES and batch.slowness < _MOST_SLOWNESS:
            self._queue.appendleft(batch)
        else:
            kind = FailureKind.INTERNAL if fault == "internal" else FailureKind.DEVICE_LOST
            batch.fail(kind, f"{seat.name} {why}", seat.name)

    async def _answer(
        self, seat: Seat[Any], request: Mapping[str, Any], *, holds: bool = False
    ) -> dict[str, Any] | str:
        """Its reply; why there is none, where it is lost."""
        try:
            future = await self._link.submit(seat.member, request)
        except (OSError, UsageError) as error:
            return str(error)
        if holds:
            seat.session = future
        reply = asyncio.ensure_future(reply_of(future))
        gone = asyncio.ensure_future(seat.gone.wait())
        try:
            await asyncio.wait({reply, gone}, return_when=asyncio.FIRST_COMPLETED)
            answer = reply.result() if reply.done() else "is gone"
            closed = isinstance(answer, dict) and answer.get("closed")
            return "has ended the run's processes" if closed else answer
        finally:
            reply.cancel()
            gone.cancel()
            if not holds:
                await let_go(future)

    def _give_up(self) -> None:
        """Tell the batches in the queue that no device came in time."""
        if self._hopeful or time.monotonic() - self._served < self._wait_seconds:
            return
        while self._queue:
            text = f"no device at {self._link.scheduler} for {self._wait_seconds:g} s"
            batch = self._queue.popleft()
            batch.fail(FailureKind.DEVICE_LOST, text)
            self._batches.discard(batch)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._link.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._is_over)

    def _is_over(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            self._bug = error
            failure = failure_of(error, FailureKind.INTERNAL)
            self._stop(failure.kind, failure.text)
