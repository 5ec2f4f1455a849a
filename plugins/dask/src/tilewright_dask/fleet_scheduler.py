"""A scheduler of Dask's as a fleet needs it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tilewright_dask.listening import listening
from tilewright_dask.quiet_dask import quiet_dask
from tilewright_dask.security.access import check_host, security_of


async def run_scheduler(
    host: str, port: int, tls: Path | None, *, dashboard_port: int, say: Callable[[str], None]
) -> None:
    """Serve until cancelled, after `say(ADDRESS)`. Raises UsageError for a port that is taken."""
    check_host(host, tls)
    security = security_of(tls, "scheduler")
    quiet_dask()
    from distributed import Scheduler

    scheduler = Scheduler(
        host=host,
        port=port,
        protocol="tcp" if tls is None else "tls",
        security=security,
        dashboard_address=f"127.0.0.1:{dashboard_port}",
    )
    with listening(f"{host}:{port}", option="--port", remedy="take another: --port 0 finds one"):
        await scheduler
    try:
        say(scheduler.address)
        await scheduler.finished()
    finally:
        await scheduler.close()
