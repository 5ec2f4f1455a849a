"""A scheduler and workers of one machine, to try a fleet."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from tilewright_dask.fleet_scheduler import run_scheduler
from tilewright_dask.worker.cores import cores_text, split_cores

_END_SECONDS = 5.0


async def run_local_fleet(
    workers: int,
    builders: int,
    port: int,
    device: str,
    *,
    accepts_plugins: bool,
    say: Callable[[str], None],
) -> None:
    """Serve until cancelled, or until the scheduler or all workers ended; none is left then.

    The scheduler runs in this process, each worker in one of its own on its share of the cores.
    Raises UsageError where there are fewer cores than workers.
    """
    shares = split_cores(workers + builders)
    started: list[asyncio.subprocess.Process] = []
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def told(text: str) -> None:
        say(text)
        address.set_result(text)

    scheduling = asyncio.create_task(
        run_scheduler("127.0.0.1", port, None, dashboard_port=0, say=told)
    )
    try:
        waited: set[asyncio.Future[Any]] = {scheduling, address}
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        if scheduling.done():
            await scheduling
        for number, cores in enumerate(shares):
            does = ["--device", device] if number < workers else ["--builds"]
            options = [*does, "--cores", cores_text(cores)]
            options += ["--accept-plugins"] if accepts_plugins else []
            started.append(await _worker(address.result(), options))
        working: asyncio.Future[Any] = asyncio.gather(*(process.wait() for process in started))
        ends: set[asyncio.Future[Any]] = {scheduling, working}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        working.cancel()
        if scheduling.done():
            await scheduling
    finally:
        await _end(started)
        scheduling.cancel()
        with suppress(asyncio.CancelledError):
            await scheduling


async def _worker(address: str, options: Sequence[str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tilewright", "fleet", "worker", address, "--parent", str(os.getpid())),
        *options,
        start_new_session=True,  # Ctrl-C is for this process, which ends them
    )


async def _end(started: Sequence[asyncio.subprocess.Process]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        alive = [process for process in started if process.returncode is None]
        for process in alive:
            with suppress(ProcessLookupError):
                process.send_signal(number)
        if alive:
            with suppress(TimeoutError):
                async with asyncio.timeout(_END_SECONDS):
                    await asyncio.gather(*(process.wait() for process in alive))
