"""What the devices and builders of a fleet did in one run."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from operator import itemgetter
from statistics import median
from typing import Any

from tilewright.roles import DeviceUse


class FleetLog:
    """Written on the link's thread, read on any.

    device_faults   by the names of devices, batches that came to nothing there, by why
    builder_faults  by the names of builders, batches that were not built there, by why
    """

    def __init__(self) -> None:
        self.device_faults: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.builder_faults: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._began = time.monotonic()
        self._uses: defaultdict[str, list[tuple[float, float, float | None]]] = defaultdict(list)

    def note_use(self, device: str, answer: Mapping[str, Any]) -> None:
        """A device has just answered, with how long it worked and what the reference took."""
        if "seconds" in answer:
            end = time.monotonic() - self._began
            start = max(0.0, end - answer["seconds"])
            self._uses[device].append((start, end, answer.get("took")))

    @property
    def uses(self) -> dict[str, list[DeviceUse]]:
        """By the names of devices, batch by batch, in the order of time.

        An answer that is late is noted late, so that its batch seems to begin later.
        """
        known = {name: sorted(uses, key=itemgetter(0)) for name, uses in [*self._uses.items()]}
        times = [took for uses in known.values() for _, _, took in uses if took]
        usual = median(times) if times else 1.0
        return {
            name: [
                DeviceUse(start, end, end - start, took / usual if took else None)
                for start, end, took in uses
            ]
            for name, uses in known.items()
        }


def as_told(faults: Mapping[str, Counter[str]]) -> dict[str, dict[str, int]]:
    """A copy to read."""
    return {name: dict(counts) for name, counts in [*faults.items()]}
