"""A device's peaks, measured once and kept in the user's cache folder."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

# A peak is a maximum: whatever else ran on the machine can only have lowered it.
_MEASUREMENTS = 3

if TYPE_CHECKING:
    from tilewright.roles import TargetBackend
    from tilewright.vocabulary.device import Device
    from tilewright.vocabulary.target import Target


def with_peaks(backend: TargetBackend, device: Device, target: Target) -> Device:
    """The device with operations and bytes a second of the target's code; measured when unknown.

    A device with the attribute `emulated` gets none: its times are not comparable.
    """
    if device.attributes.get("emulated"):
        return device
    kept = _read().get(device.fingerprint, {}).get(str(target))
    flops, bandwidth = kept or measure_peaks(backend, device, target)
    return replace(
        device, peak_flops={target.threads: flops}, bandwidth={target.threads: bandwidth}
    )


def measure_peaks(backend: TargetBackend, device: Device, target: Target) -> tuple[float, float]:
    """(operations, bytes) a second as measured now; saved if larger than the saved ones."""
    found = [backend.measure_peak(device, target) for _ in range(_MEASUREMENTS)]
    flops, bandwidth = (max(figures) for figures in zip(*found, strict=True))
    if not device.attributes.get("emulated"):
        known = _read()
        entry = known.get(device.fingerprint, {})
        kept = entry.get(str(target), (0.0, 0.0))
        larger = [max(flops, kept[0]), max(bandwidth, kept[1])]
        _write({**known, device.fingerprint: {**entry, str(target): larger}})
    return flops, bandwidth


def _file() -> Path:
    folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder) / "tilewright" / "peaks.json"


def _read() -> dict[str, Any]:
    """The saved peaks; empty where the file is missing or damaged."""
    try:
        known = json.loads(_file().read_text("utf-8"))
        for entry in known.values():
            for flops, bandwidth in entry.values():
                float(flops), float(bandwidth)
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
