"""What measuring took: trials, failures, and where the time went."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tilewright.roles import DeviceUse
from tilewright_pipeline.measuring.device_shares import failing, later, shares, uses_of
from tilewright_pipeline.measuring.noise import is_noisy


@dataclass(slots=True)
class MeasurementSpent:
    """What was measured so far.

    timings   seconds of lower, compile, load, check, time, summed over the trials; and of `search`,
              what tuners took to learn and to propose, `build`, until batches were built, and
              `store`, to write the records
    counts    what the trials' artefacts count of themselves, summed
    disturbed   trials whose samples differ much, see `is_disturbed`
    devices   trials by the names of devices, where the runner has several
    faults    batches by device and why, as the runner tells, see `TellsDevices`
    uses      what devices did over time, see there
    builder_faults   batches by builder and why, see there
    """

    trials: int = 0
    failures: int = 0
    disturbed: int = 0
    timings: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    devices: dict[str, int] = field(default_factory=dict)
    faults: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    uses: Mapping[str, Sequence[DeviceUse]] = field(default_factory=dict)
    builder_faults: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def add(self, timings: Mapping[str, float], counts: Mapping[str, int] = {}) -> None:
        """Add seconds to the parts named, and what an artefact counts of itself."""
        for part, seconds in timings.items():
            self.timings[part] = self.timings.get(part, 0.0) + seconds
        for name, amount in counts.items():
            self.counts[name] = self.counts.get(name, 0) + amount

    def add_device(self, name: str, trials: int, faults: Mapping[str, int] = {}) -> None:
        """Add what a device did."""
        self.devices[name] = self.devices.get(name, 0) + trials
        if faults:
            self.faults = _with(self.faults, name, faults)

    @contextmanager
    def on(self, part: str) -> Iterator[None]:
        """Count the time of a block as this part."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.add({part: time.perf_counter() - start})

    @property
    def noisy(self) -> bool:
        """Whether the machine did so much else that the best config may be another."""
        return is_noisy(self.disturbed, self.trials - self.failures)

    def report(self, seconds: float) -> dict[str, Any]:
        """The `measurement` member of run.json."""
        devices = shares(self.devices, self.faults, self.uses)
        return {
            "trials": self.trials,
            "failures": self.failures,
            "seconds": seconds,
            "trials_per_second": self.trials / seconds if self.trials and seconds > 0 else 0.0,
            "disturbed": self.disturbed,
            "noisy": self.noisy,
            "split": dict(self.timings),
            "counts": dict(self.counts),
            **({"devices": devices} if devices else {}),
            **({"builders": lost} if (lost := failing(self.builder_faults)) else {}),
        }


def summed(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Two `measurement` members of run.json as one."""
    names = ("trials", "failures", "disturbed")
    spent = MeasurementSpent(*(first.get(name, 0) + second.get(name, 0) for name in names))
    for one, began in ((first, 0.0), (second, first["seconds"])):
        spent.add(one.get("split", {}), one.get("counts", {}))
        spent.uses = later(spent.uses, uses_of(one.get("devices", {})), began)
        for name, share in one.get("devices", {}).items():
            spent.add_device(name, share["trials"], share["faults"])
        for name, share in one.get("builders", {}).items():
            spent.builder_faults = _with(spent.builder_faults, name, share["faults"])
    return spent.report(first["seconds"] + second["seconds"])


def _with(
    known: Mapping[str, Mapping[str, int]], name: str, faults: Mapping[str, int]
) -> Mapping[str, Mapping[str, int]]:
    """The faults known by name, and some more of one."""
    own = known.get(name, {})
    both = {why: own.get(why, 0) + faults.get(why, 0) for why in {**own, **faults}}
    return {**known, name: both}
