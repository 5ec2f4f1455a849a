"""What drivers call on a worker: the one function that Dask knows by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol

from tilewright_dask.messages import encode

if TYPE_CHECKING:
    from distributed import Worker

_GONE = ("forgotten", "released", "cancelled", "error")
"""States of a task that nobody waits for."""


class Serves(Protocol):
    """What answers the requests to a worker."""

    def serve(self, key: str, request: bytes) -> bytes:
        """The reply to a request, which Dask knows by a key."""

    def holds_unwanted(self, wanted: Callable[[str], bool]) -> bool:
        """Whether `keep` would end anything."""

    def keep(self, wanted: Callable[[str], bool]) -> None:
        """End what belongs to no wanted key."""


STATIONS: dict[str, Serves] = {}
"""Of the workers in this process, by their names."""


def serve(request: bytes) -> bytes:
    """The reply of a worker's station; Dask's scheduler sees bytes go in and come out."""
    from distributed import get_worker

    worker = get_worker()
    station = STATIONS.get(str(worker.name))
    if station is None:
        return encode({"failed": "this Dask worker was not started by `tilewright fleet worker`"})
    wanted = partial(is_wanted, worker)
    if station.holds_unwanted(wanted):  # who is gone makes room for who asks
        station.keep(wanted)
    return station.serve(str(worker.get_current_task()), request)


def is_wanted(worker: Worker, key: str) -> bool:
    """Whether somebody waits for the request of a key, or holds the session that it opened."""
    task = worker.state.tasks.get(key)
    return task is not None and task.state not in _GONE
