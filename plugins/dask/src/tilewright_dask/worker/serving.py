"""What drivers call on a worker: the one function that Dask knows by name."""

from __future__ import annotations

from typing import Protocol

from tilewright_dask.messages import encode


class Serves(Protocol):
    """What answers the requests to a worker."""

    def serve(self, key: str, request: bytes) -> bytes:
        """The reply to a request, which Dask knows by a key."""


STATIONS: dict[str, Serves] = {}
"""Of the workers in this process, by their names."""


def serve(request: bytes) -> bytes:
    """The reply of a worker's station; Dask's scheduler sees bytes go in and come out."""
    from distributed import get_worker

    worker = get_worker()
    station = STATIONS.get(str(worker.name))
    if station is None:
        return encode({"failed": "this Dask worker was not started by `tilewright fleet worker`"})
    return station.serve(str(worker.get_current_task()), request)
