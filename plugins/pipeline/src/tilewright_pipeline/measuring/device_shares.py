"""What each of several devices and builders did in a run, as `measurement` of run.json has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NAMES = 3  # of a fleet's many


def shares(
    trials: Mapping[str, int], faults: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, Any]]:
    """By the devices' names, trials and faults of each; for `faults` see `TellsFaults`."""
    return {
        name: {"trials": trials.get(name, 0), "faults": dict(faults.get(name, {}))}
        for name in sorted({*trials, *faults})
    }


def failing(faults: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, Any]]:
    """By the names of builders, faults of those that have some; see `TellsBuilderFaults`."""
    return {name: {"faults": dict(counts)} for name, counts in sorted(faults.items()) if counts}


def trials_told(devices: Mapping[str, Mapping[str, Any]]) -> str:
    """`2, 30 to 34 trials each`."""
    counts = [share["trials"] for share in devices.values()]
    least, most = min(counts), max(counts)
    return f"{len(counts)}, {least if least == most else f'{least} to {most}'} trials each"


def faults_told(devices: Mapping[str, Mapping[str, Any]]) -> str:
    """`1 batch (device_lost: cpu@a), 2 batches (drift: cpu@b)`; empty where there are none."""
    kinds = sorted({kind for share in devices.values() for kind in share["faults"]})
    return ", ".join(_fault_told(kind, devices) for kind in kinds)


def _fault_told(kind: str, devices: Mapping[str, Mapping[str, Any]]) -> str:
    counts = {name: share["faults"].get(kind, 0) for name, share in devices.items()}
    names = [name for name, count in counts.items() if count]
    total, more = sum(counts.values()), len(names) - _NAMES
    told = ", ".join(names[:_NAMES]) + (f" and {more} more" if more > 0 else "")
    return f"{total} {'batch' if total == 1 else 'batches'} ({kind}: {told})"
