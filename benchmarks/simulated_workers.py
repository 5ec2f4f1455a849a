"""Many simulated devices in one process: each sleeps as long as a trial takes, and says a time.

    python simulated_workers.py SCHEDULER COUNT

Durations and times are drawn from those of ResNet-50's tasks on a core (0.05 to 0.3 s a trial). All
else is a fleet's: Dask workers, sessions, batches, their messages.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from collections.abc import Callable
from typing import Any

from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import MeasureResult
from tilewright_dask.inputs import inputs_from_json
from tilewright_dask.messages import decode, encode
from tilewright_dask.security.access import security_of
from tilewright_dask.worker import fleet_worker
from tilewright_dask.worker.announcement import OwnDevice, announcement
from tilewright_dask.worker.fleet_worker import FleetWorker

fleet_worker._LOOK_SECONDS = 5.0  # hundreds of workers on a core or two: less often
_SECONDS = (0.05, 0.06, 0.07, 0.08, 0.1, 0.12, 0.16, 0.3)
MEAN = sum(_SECONDS) / len(_SECONDS)
_DEVICE = Device("simulated", {"model": "simulated", "l3_bytes": 1 << 25}, {1: 1e11}, {1: 1e10})


class SimulatedStation:
    """Answers as a `Station` does, without building or running anything."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._trials = 0

    def serve(self, key: str, request: bytes) -> bytes:
        asked = decode(request)
        if asked["do"] == "measure":
            results = [self._measured() for _ in inputs_from_json(asked)]
            # Once a batch: a thousand threads that wake at each trial would wait for one another.
            time.sleep(sum(self._random.choice(_SECONDS) for _ in results))
            return encode({"results": [one.to_json() for one in results]})
        if asked["do"] == "resolve":
            return encode({"target": "x86:isa=avx2,threads=1"})
        if asked["do"] == "reach":
            return encode({"target": asked["target"], "device": _DEVICE.to_json()})
        return encode({})

    def state(self) -> dict[str, Any]:
        return {"state": "idle", "trials": self._trials, "trials_per_second": 0.0, "drift": 0.0}

    def holds_unwanted(self, wanted: Callable[[str], bool]) -> bool:
        return False

    def close(self) -> None:
        pass

    def _measured(self) -> MeasureResult:
        self._trials += 1
        best = 1e-4 * (1 + self._random.random())
        costs = tuple(best * (1 + 0.01 * self._random.random()) for _ in range(5))
        return MeasureResult(costs, timings={"lower": 0.01, "compile": 0.02, "time": 0.05})


async def _serve(scheduler: str, count: int) -> None:
    announced = announcement(OwnDevice("x86", _DEVICE), [0], accepts_plugins=False)
    ready = asyncio.Event()
    serving = 0

    def said(text: str) -> None:
        nonlocal serving
        serving += text.startswith("serving")
        if serving == count:
            ready.set()

    workers = [
        FleetWorker(
            scheduler,
            f"simulated-{os.getpid()}-{number}",
            security_of(None, "worker"),
            "127.0.0.1",
            SimulatedStation(number),  # type: ignore[arg-type]
            announced,
            said,
        )
        for number in range(count)
    ]
    tasks = [asyncio.create_task(worker.run()) for worker in workers]
    await ready.wait()
    print(f"{count} workers, mean trial {MEAN}", flush=True)
    await asyncio.gather(*tasks)


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], int(sys.argv[2])))
