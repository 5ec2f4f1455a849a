"""A device, or a builder, that batches are handed to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median_low
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tilewright.errors import UsageError
from tilewright_dask.driver.batch import Batch
from tilewright_dask.driver.fleet_member import FleetMember

if TYPE_CHECKING:
    from distributed import Future

M = TypeVar("M", bound=FleetMember)
MOST_FLYING = 2
"""One is measured or built, one waits beside it, so that none waits for the driver."""
_SILENT_SECONDS = 15.0
"""Without a sign of life; a worker gives several in that time, however large the fleet is."""
_ASIDE_SECONDS, _MOST_ASIDE_SECONDS = 1.0, 320.0
"""At first and at most. What disturbs a device is often over at once, as another guest's burst."""


@dataclass(eq=False, slots=True)
class Seat(Generic[M]):
    """What the driver knows of a device or a builder, as long as it is announced.

    session   the opened one, held as long as this run wants it; None until it is open
    failed    why it could not be opened; it is tried again
    gone      set once nothing more will come of it
    speed     seconds of the run's reference there, None until that was measured
    """

    member: M
    session: Future[bytes] | None = None
    ready: bool = False
    failed: UsageError | None = None
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    flying: set[Batch] = field(default_factory=set)
    speed: float | None = None
    _asides: int = 0  # in a row
    _aside_until: float = 0.0
    _heard: float = field(default_factory=time.monotonic)

    @property
    def name(self) -> str:
        return self.member.name

    @property
    def free(self) -> bool:
        """Whether it can take one more batch now."""
        return self.serves and len(self.flying) < MOST_FLYING

    @property
    def serves(self) -> bool:
        """Whether its session is open, and it is not set aside."""
        return self.ready and time.monotonic() >= self._aside_until

    def hear(self, member: M) -> None:
        """Note what the scheduler says of it now."""
        if member.seen != self.member.seen:
            self._heard = time.monotonic()
        self.member = member

    @property
    def silent(self) -> bool:
        """Whether its worker gives no sign of life, stopped or without network."""
        return time.monotonic() - self._heard > _SILENT_SECONDS

    def set_aside(self) -> float:
        """Give it nothing for a while, each time in a row for twice as long: the seconds."""
        seconds = min(_ASIDE_SECONDS * 2.0**self._asides, _MOST_ASIDE_SECONDS)
        self._asides += 1
        self._aside_until = time.monotonic() + seconds
        return seconds

    def prove(self) -> None:
        """Note that it did as it should: the next time aside is short again."""
        self._asides = 0

    def drift_told(
        self, answer: Mapping[str, Any], seats: Iterable[Seat[M]], limit: float
    ) -> str | None:
        """How it is off from what it was, or from its fellows; None where it is not."""
        if "drift" in answer:
            return f"is slower than usual by {answer['drift']:.0%}"
        if "results" not in answer:
            return None
        self.speed = answer.get("speed") or self.speed
        return self.off_told(seats, limit)

    def off_told(self, seats: Iterable[Seat[M]], limit: float) -> str | None:
        """How it is off from the median of them all, itself among them; None where it is not.

        Of two that differ, the slower one is off.
        """
        speeds = [seat.speed for seat in seats if seat.speed is not None]
        if self.speed is None or not speeds:
            return None
        ratio = self.speed / median_low(speeds)
        share = max(ratio, 1 / ratio) - 1
        way = "slower" if ratio > 1 else "faster"
        return f"is {way} than its fellows by {share:.0%}" if share > limit else None
