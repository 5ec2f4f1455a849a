"""What drivers call on a worker: the one function that Dask knows by name."""

from __future__ import annotations

from tilewright_dask.messages import encode
from tilewright_dask.worker.station import Station

_HERE: list[Station] = []


def take_over(station: Station) -> None:
    """Let this process serve with a station."""
    _HERE[:] = [station]


def serve(request: bytes) -> bytes:
    """The reply of this process's station; Dask's scheduler sees bytes go in and come out."""
    from distributed import get_worker

    if not _HERE:
        return encode({"failed": "this Dask worker was not started by `tilewright fleet worker`"})
    return _HERE[0].serve(str(get_worker().get_current_task()), request)
