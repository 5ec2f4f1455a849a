"""A device, or a builder, that batches are handed to."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from tilewright_dask.driver.batch import Batch
from tilewright_dask.driver.fleet_member import FleetMember

if TYPE_CHECKING:
    from distributed import Future

M = TypeVar("M", bound=FleetMember)
_MOST_FLYING = 2
"""One is measured or built, one waits beside it, so that none waits for the driver."""
_SILENT_SECONDS = 15.0
"""Without a sign of life; a worker gives several in that time, however large the fleet is."""


@dataclass(eq=False, slots=True)
class Seat(Generic[M]):
    """What the driver knows of a device or a builder, as long as it is announced.

    session   the opened one, held as long as this run wants it; None until it is open
    gone      set once nothing more will come of it
    """

    member: M
    session: Future[bytes] | None = None
    ready: bool = False
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    flying: set[Batch] = field(default_factory=set)
    aside_until: float = 0.0
    _heard: float = field(default_factory=time.monotonic)

    @property
    def name(self) -> str:
        return self.member.name

    @property
    def free(self) -> bool:
        """Whether it can take one more batch now."""
        return self.serves and len(self.flying) < _MOST_FLYING

    @property
    def serves(self) -> bool:
        """Whether its session is open, and it is not set aside."""
        return self.ready and time.monotonic() >= self.aside_until

    @property
    def takes(self) -> int:
        """How many batches it takes at a time."""
        return _MOST_FLYING

    def hear(self, member: M) -> None:
        """Note what the scheduler says of it now."""
        if member.seen != self.member.seen:
            self._heard = time.monotonic()
        self.member = member

    @property
    def silent(self) -> bool:
        """Whether its worker gives no sign of life, stopped or without network."""
        return time.monotonic() - self._heard > _SILENT_SECONDS
