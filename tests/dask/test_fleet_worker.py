"""A worker of a fleet as Dask's scheduler sees it."""

from __future__ import annotations

import asyncio

from fleet_bench import PATIENCE_SECONDS

from tilewright_dask.security.access import security_of
from tilewright_dask.worker.fleet_worker import FleetWorker


class Idle:
    """A station of which nobody asks anything."""

    def state(self):
        return {}

    def holds_unwanted(self, wanted):
        return False

    def close(self):
        pass


def test_workers_of_equal_host_names_and_process_numbers_serve_side_by_side(fleet):
    """As the first processes of two containers that share the host's network."""
    fleet.scheduler()
    addresses = set()

    async def serve():
        both = asyncio.Event()

        def say(text):
            if text.startswith("serving "):
                addresses.add(text)
            if len(addresses) == 2:
                both.set()

        secure = security_of(None, "worker")
        serving = [
            asyncio.create_task(
                FleetWorker(fleet.address, "host-1", secure, "127.0.0.1", Idle(), {}, say).run()
            )
            for _ in range(2)
        ]
        ends = {asyncio.create_task(both.wait()), *serving}
        await asyncio.wait(ends, timeout=PATIENCE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        for task in ends:
            task.cancel()
        await asyncio.gather(*ends, return_exceptions=True)

    asyncio.run(serve())
    assert len(addresses) == 2
