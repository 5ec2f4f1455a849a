"""What each of several devices and builders did in a run, as `measurement` of run.json has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from tilewright.roles import DeviceUse

_NAMES = 3  # of a fleet's many
_MOST_USES, _MOST_USES_EACH = 6000, 120


def shares(
    trials: Mapping[str, int],
    faults: Mapping[str, Mapping[str, int]],
    uses: Mapping[str, Sequence[DeviceUse]] = {},
) -> dict[str, dict[str, Any]]:
    """By the devices' names, trials, faults and use (see `TellsDevices`) of each.

    Use is told in so few steps that the file stays small.
    """
    most = max(4, min(_MOST_USES_EACH, _MOST_USES // max(1, len(uses))))
    return {
        name: {
            "trials": trials.get(name, 0),
            "faults": dict(faults.get(name, {})),
            **({"use": _rows(_coarser(uses[name], most))} if uses.get(name) else {}),
        }
        for name in sorted({*trials, *faults, *uses})
    }


def uses_of(devices: Mapping[str, Mapping[str, Any]]) -> dict[str, list[DeviceUse]]:
    """What `shares` has told of use."""
    return {
        name: [DeviceUse(*row) for row in share["use"]]
        for name, share in devices.items()
        if "use" in share
    }


def later(
    first: Mapping[str, Sequence[DeviceUse]],
    second: Mapping[str, Sequence[DeviceUse]],
    seconds: float,
) -> dict[str, list[DeviceUse]]:
    """Both, the second so many seconds after the first."""
    both = {name: list(uses) for name, uses in first.items()}
    for name, uses in second.items():
        both.setdefault(name, []).extend(
            DeviceUse(one.start + seconds, one.end + seconds, one.busy, one.pace) for one in uses
        )
    return both


def _coarser(uses: Sequence[DeviceUse], most: int) -> Sequence[DeviceUse]:
    """At most so many: neighbours become one, as long as both and what is between them."""
    while len(uses) > most:
        pairs = zip_longest(uses[::2], uses[1::2])
        uses = [one if other is None else _joined(one, other) for one, other in pairs]
    return uses


def _joined(first: DeviceUse, second: DeviceUse) -> DeviceUse:
    slowest = max((one.pace for one in (first, second) if one.pace is not None), default=None)
    return DeviceUse(first.start, second.end, first.busy + second.busy, slowest)


def _rows(uses: Sequence[DeviceUse]) -> list[list[float | None]]:
    return [
        [
            *(round(one, 3) for one in (use.start, use.end, use.busy)),
            use.pace and round(use.pace, 4),
        ]
        for use in uses
    ]


def failing(faults: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, Any]]:
    """By the names of builders, faults of those that have some; see `TellsDevices`."""
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
