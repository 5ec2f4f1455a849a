"""A device's peaks, kept in the user's cache folder; each measurement can only raise them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright.roles import MeasuresInstructions

# A peak is a maximum: whatever else ran on the machine can only have lowered it.
_MEASUREMENTS = 3

if TYPE_CHECKING:
    from tilewright.roles import TargetBackend
    from tilewright.vocabulary.device import Device
    from tilewright.vocabulary.target import Target


class Peaks(NamedTuple):
    """What code for a target reaches on a device, a second.

    flops         operations in float32
    bandwidth     bytes from main memory
    instructions  operations of other precisions, by `PRECISION/INSTRUCTION`
    """

    flops: float
    bandwidth: float
    instructions: Mapping[str, float]

    def raised(self, other: Peaks) -> Peaks:
        """The larger of each figure."""
        names = sorted({*self.instructions, *other.instructions})
        return Peaks(
            max(self.flops, other.flops),
            max(self.bandwidth, other.bandwidth),
            {n: max(self.instructions.get(n, 0.0), other.instructions.get(n, 0.0)) for n in names},
        )


def with_peaks(
    backend: TargetBackend, device: Device, target: Target, *, again: bool = False
) -> Device:
    """The device with operations and bytes a second of the target's code; measured when unknown.

    A device with the attribute `emulated` gets none: its times are not comparable.

    again   measure once more (about 0.3 s) what is known: it may be of a busier hour
    """
    if device.emulated:
        return device
    kept = _read().get(device.fingerprint, {}).get(str(target))
    # Versions before kept two figures, of float32 alone.
    if kept is None or (len(kept) < len(Peaks._fields) and _tells_more(backend)):
        found = measure_peaks(backend, device, target)
    else:
        found = _peaks(kept)
        if again:
            found = found.raised(measure_peaks(backend, device, target, times=1))
    threads = target.threads
    return replace(
        device,
        peak_flops={threads: found.flops},
        bandwidth={threads: found.bandwidth},
        peaks={name: {threads: flops} for name, flops in found.instructions.items()},
    )


def measure_peaks(
    backend: TargetBackend, device: Device, target: Target, *, times: int = _MEASUREMENTS
) -> Peaks:
    """The peaks as measured now; saved if larger than the saved ones."""
    found = _measured(backend, device, target)
    for _ in range(times - 1):
        found = found.raised(_measured(backend, device, target))
    if not device.emulated:
        known = _read()
        entry = known.get(device.fingerprint, {})
        larger = found.raised(_peaks(entry.get(str(target), (0.0, 0.0))))
        figures = larger if _tells_more(backend) else larger[:2]
        _write({**known, device.fingerprint: {**entry, str(target): figures}})
    return found


def _measured(backend: TargetBackend, device: Device, target: Target) -> Peaks:
    figures = backend.measure_peak(device, target)
    if isinstance(backend, MeasuresInstructions) and not device.emulated:
        return Peaks(*figures, backend.measure_instructions(device, target))
    return Peaks(*figures, {})


def _tells_more(backend: TargetBackend) -> bool:
    return isinstance(backend, MeasuresInstructions)


def _peaks(kept: Any) -> Peaks:
    flops, bandwidth, *instructions = kept
    return Peaks(flops, bandwidth, *(instructions or ({},)))


def _file() -> Path:
    folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder) / "tilewright" / "peaks.json"


def _read() -> dict[str, Any]:
    """The saved peaks; empty where the file is missing or damaged."""
    try:
        known = json.loads(_file().read_text("utf-8"))
        for entry in known.values():
            for kept in entry.values():
                found = _peaks(kept)
                for figure in (found.flops, found.bandwidth, *found.instructions.values()):
                    float(figure)
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
    return dict(known)


def _write(known: dict[str, Any]) -> None:
    path = _file()
    # A cache that cannot be written only costs the next run a second.
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(known), "utf-8")
        fresh.replace(path)
