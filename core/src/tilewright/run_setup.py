"""Turns the texts of a command line or file into what a run works with; creates nothing."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.device import Device
from tilewright.device_peaks import with_peaks
from tilewright.errors import UsageError, did_you_mean
from tilewright.measure import Conditions
from tilewright.options import Choice
from tilewright.records import JsonlReader, JsonlRecordStore, find_reader
from tilewright.roles import RunContext, TellsItsParts

_log = logging.getLogger("tilewright")

if TYPE_CHECKING:
    from tilewright.host import PluginHost
    from tilewright.target import Target
    from tilewright.tuning.budget import Budget


def make_context(
    host: PluginHost,
    *,
    name: str,
    folder: Path,
    target: str,
    device: str | None = None,
    records: Path | None = None,
    conditions: Conditions | None = None,
    seed: int = 0,
    runner: Choice | None = None,
    builder: Choice | None = None,
    strategies: str = "*",
    more: Budget | None = None,
    foreign_records: bool = False,
    measures: bool = True,
) -> RunContext:
    """What stages share. Raises UsageError for a target, device or file that cannot be used.

    records   default `records.jsonl` in the run's folder
    runner, builder  default `local`
    measures  False: nothing is run, so that any machine will do; the device is then `none`
    """
    check_writable(folder, "--out")
    resolved = host.resolve_target(target)
    found = find_device(host, resolved, device) if measures else Device("none")
    foreign = foreign_records or not measures
    runner, builder = runner or Choice("local"), builder or Choice("local")
    return RunContext(
        name=name,
        folder=folder,
        target=resolved,
        device=found,
        host=host,
        store=open_store(records or folder / "records.jsonl", found, host, foreign=foreign),
        conditions=conditions or Conditions(),
        seed=seed,
        runner=(runner.name, runner.options),
        builder=(builder.name, builder.options),
        strategies=strategies,
        more=more,
        foreign_records=foreign_records,
    )


def find_device(host: PluginHost, target: Target, name: str | None) -> Device:
    """The device of that name, or the target's first. Raises UsageError where there is none.

    One whose attribute `emulated` is set is used where it is named only: its times are no device's.
    """
    backend = host.backend(target.kind)
    devices = backend.probe()
    for device in devices:
        if device.name == name or (name is None and not device.attributes.get("emulated")):
            cores = device.attributes.get("cores")
            if isinstance(cores, int) and target.threads > cores:
                raise UsageError(
                    f"{target} wants {target.threads} threads, {device.name} has {cores} cores",
                    remedy=f"ask for at most threads={cores}",
                )
            backend.check_target(target, device)
            return with_peaks(backend, device, target)
    missing = backend.missing() if isinstance(backend, TellsItsParts) else {}
    known = [device.name for device in devices]
    if name is None or not known:
        others = f"; there is --device {', '.join(known)}" if known else ""
        reasons = "; ".join(f"{what}: {why}" for what, why in missing.items())
        raise UsageError(
            f"this machine has no device for the target {target}",
            remedy=f"{reasons or '`tilewright targets` lists what there is'}{others}",
        )
    raise UsageError(
        f"no device '{name}' for {target}",
        remedy=missing.get(name) or did_you_mean(name, known),
    )


def open_store(path: Path, device: Device, host: PluginHost, *, foreign: bool) -> JsonlRecordStore:
    """The store of a records file, which need not exist yet.

    Raises UsageError where the file cannot be written, where it is a log of another format, or
    where all its records are another device's and `foreign` does not allow that.
    """
    check_writable(path, "records")
    if path.is_dir():
        raise UsageError("a folder, expected a file", where=str(path), remedy="name a .jsonl file")
    if path.exists() and not isinstance(find_reader(path, host), JsonlReader):
        raise UsageError(
            "a log of another format",
            where=str(path),
            remedy="import it: tilewright records merge FILE --into ANOTHER.jsonl",
        )
    store = JsonlRecordStore(path, create_parents=True)
    if not foreign:
        devices = store.devices(host.revisions)  # what other systems measured is no history here
        if devices and device.fingerprint not in {fingerprint for _, fingerprint in devices}:
            names = ", ".join(sorted(name for name, _ in devices))
            raise UsageError(
                f"every record was made on another device ({names})",
                where=str(path),
                remedy="give another records file, or --foreign-records to start from these",
            )
    for strategy, count in store.stale(host.revisions).items():
        _log.warning(
            "%s: %d records of another revision of '%s' count as misses", path, count, strategy
        )
    return store


def check_writable(path: Path, what: str) -> None:
    """Raise UsageError where a file or folder of that path could not be made."""
    try:
        path.lstat()
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"{what}: {reason}", where=_shown(path), remedy="choose another path"
        ) from None
    try:
        near = path.resolve(strict=False)
        while not near.exists():
            near = near.parent
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(
            f"{what}: {error}", where=_shown(path), remedy="choose another path"
        ) from None
    if near != path.resolve() and not near.is_dir():
        raise UsageError(
            f"{what}: {near} is no folder", where=_shown(path), remedy="choose another path"
        )
    if not os.access(near, os.W_OK):
        raise UsageError(
            f"{what}: {near} is not writable", where=_shown(path), remedy="choose another path"
        )


def _shown(path: Path) -> str:
    """The path with what is no valid text escaped, so that it can be printed."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
