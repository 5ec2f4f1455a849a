"""Turns the texts of a command line or file into what a run works with; creates nothing."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.errors import UsageError
from tilewright.options import DEFAULT, Choice, named
from tilewright.paths import is_file
from tilewright.plugins.loading.distributions import how_to_get
from tilewright.roles import EmulatesTargets
from tilewright.vocabulary.device import Device, MeasuresElsewhere
from tilewright.vocabulary.measure import Conditions
from tilewright.vocabulary.record import Record
from tilewright.vocabulary.task import Task
from tilewright_pipeline.context.device_peaks import with_peaks
from tilewright_pipeline.context.find_device import find_device
from tilewright_pipeline.context.frozen import pinned
from tilewright_pipeline.context.packs import used_packs
from tilewright_pipeline.context.reach import reaching, resolver
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.dispatch.history import equal_tasks
from tilewright_pipeline.writing import check_file, writing

_log = logging.getLogger("tilewright")
LARGEST_SEED = 2**31 - 1

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.roles import RecordStore
    from tilewright.vocabulary.budget import Budget
    from tilewright.vocabulary.target import Target


def make_context(
    host: PluginHost,
    *,
    name: str,
    folder: Path,
    target: Target | str | None = None,
    device: str | None = None,
    records: Path | None = None,
    conditions: Conditions | None = None,
    seed: int = 0,
    runner: Choice | None = None,
    builder: Choice | None = None,
    record_store: Choice | None = None,
    strategies: str = "*",
    more: Budget | None = None,
    foreign_records: bool = False,
    frozen: bool | str = False,
    measures: bool = True,
    searches: bool = False,
    writes: bool = True,
    packs: bool = True,
    saves: bool = True,
) -> RunContext:
    """What stages share.

    Raises UsageError for a target, device, seed, file or glob of strategies that cannot be used.

    records   default `records.jsonl` in the run's folder
    target, runner, builder, record_store  default: what is declared as the default of its role
    device    a name; a glob over names where the runner reaches devices elsewhere
    frozen    nothing is measured, peaks neither, and the records are only read; `sha256:...` pins
              them, see `records_hash`
    measures  False: nothing is run, so that any machine will do; the device is then `none`
    searches  True: the peaks are measured once more, since a search takes far longer
    writes    False: the records are only read, so that any folder will do
    packs     False: the records are the file's own, without those of installed packs
    saves     False: stages leave nothing in the run's folder
    """
    if not 0 <= seed <= LARGEST_SEED:
        message = f"expected a whole number from 0 to {LARGEST_SEED}, got {seed}"
        raise UsageError(message, where="seed", remedy="the default is 0")
    runner, builder = _or_default(runner, "runner", host), _or_default(builder, "builder", host)
    resolved = resolver(runner, host)(target)
    host.check_strategies(strategies, resolved, "strategies")
    found, there = Device("none"), reaching(runner, host)
    devices: tuple[str, ...] = ()
    if measures and there is not None:
        reached = there.reach(resolved, device)
        resolved, found, devices = reached.target, reached.device, reached.names
    elif measures:
        backend, found = host.backend(resolved.kind), find_device(host, resolved, device)
        if found.emulated and isinstance(backend, EmulatesTargets):
            resolved = backend.emulated_target(resolved)
        backend.check_target(resolved, found)
        found = found if frozen else with_peaks(backend, found, resolved, again=searches)
        found = _measured_on(found, runner, host)
    path = records or folder / "records.jsonl"
    if writes and not frozen:
        check_file(path, "records")
    store = open_store(path, host, record_store)
    _tell_misses(store, resolved, found if measures and not foreign_records else None, host)
    _tell_unused_precision(resolved, host)
    asked = measures and packs
    packed = used_packs(found, store, host, similar=not frozen) if asked else ()
    return RunContext(
        name=name,
        folder=folder,
        target=resolved,
        device=found,
        devices=devices,
        named_device=device or "",
        host=host,
        store=store,
        conditions=conditions or Conditions(),
        seed=seed,
        runner=(runner.name, runner.options),
        builder=(builder.name, builder.options),
        record_store=record_store,
        strategies=strategies,
        more=more,
        foreign_records=foreign_records,
        saves=saves,
        packs=packed,
        frozen=pinned(frozen, store.path, packed),
    )


def _or_default(choice: Choice | None, role: str, host: PluginHost) -> Choice:
    """The choice with a name; without one where there is no default, as who only looks needs none.

    Who measures is told then what there is to choose from.
    """
    try:
        return named(choice, role, host.default)
    except UsageError:
        return DEFAULT


def _measured_on(device: Device, runner: Choice, host: PluginHost) -> Device:
    """The device that the runner's times are of; without a runner, `device` itself."""
    known = runner.name in host.components("runner")
    options = host.check("runner", runner) if known else None
    return options.measured_on(device) if isinstance(options, MeasuresElsewhere) else device


def own_records() -> Path:
    """`tilewright/records.jsonl` in the user's folder for data: `~/.local/share`, as XDG says."""
    folder = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(folder) / "tilewright" / "records.jsonl"


def open_store(path: Path, host: PluginHost, choice: Choice | None = None) -> RecordStore:
    """The store of a records file, which need not exist yet; without a choice, the default one.

    Raises UsageError where no store is installed, and for a file that cannot be read, holds no
    records, or is a log of another format: one recognised by a reader that is neither the store's
    namesake nor of `OWN_FORMAT`.
    """
    if not host.components("record_store"):
        remedy = how_to_get(["tilewright-records"]) or "`tilewright plugins` says why"
        raise UsageError("no record store is installed", remedy=remedy)
    from tilewright_records.plugin import OWN_FORMAT
    from tilewright_records.readers import read_log, recognised_format

    choice = named(choice, "record_store", host.default)
    with writing(path, "records"):
        known = recognised_format(path, host) if is_file(path) else choice.name
    foreign = known not in (None, choice.name, OWN_FORMAT)
    # Not by its first line alone, which may be that of any text.
    if foreign and any(isinstance(r, Record) for _, r in read_log(path, host)):
        raise UsageError(
            "a log of another format",
            where=str(path),
            remedy="import it: tilewright records import FILE --into ANOTHER.jsonl",
        )
    store: RecordStore = host.choose("record_store", choice, path)
    if (foreign or known is None) and store.bad_lines and not store.tasks():
        raise UsageError(
            "no line of it is a record", where=str(path), remedy="name a records file, or a new one"
        )
    return store


def _tell_unused_precision(target: Target, host: PluginHost) -> None:
    """Warn where no strategy computes in the precision that the run allows."""
    every = (host.strategy(name) for name in host.revisions)
    known = {one.precision for one in every if target.kind in one.target_kinds}
    if host.precision not in {"float32", *known}:
        _log.warning(
            "no strategy for %s computes in %s, only in %s",
            target.kind,
            host.precision,
            " and ".join(sorted({"float32"} | known & {"tf32"})),  # what other precisions permit
        )


def _equal_targets(store: RecordStore, target: Target, host: PluginHost) -> set[Target]:
    """Those whose records count for one of the store's tasks on a target."""
    own = {Task(task.workload, target) for task in store.tasks()}
    return {equal.target for task in own for equal in equal_tasks(task, host)}


def _tell_misses(
    store: RecordStore, target: Target, device: Device | None, host: PluginHost
) -> None:
    """Warn where no record is of this device or target, or some are of other revisions.

    Records of other kinds of target, or of other systems, are ignored.
    """
    ours = {
        name: revision
        for name, revision in host.revisions.items()
        if target.kind in host.strategy(name).target_kinds
    }
    devices = store.devices(ours)
    if device and devices and device.fingerprint not in {fingerprint for _, fingerprint in devices}:
        _log.warning(
            "%s: all %d records were made on another device (%s) and count as misses; this is %s "
            "(`tilewright targets` tells what it is); --foreign-records starts from them",
            store.path,
            devices.total(),
            ", ".join(sorted(f"{name} {fingerprint}" for name, fingerprint in devices)),
            f"{device.name} {device.fingerprint}",
        )
    targets = store.targets(ours)
    missed = targets and target not in targets
    if missed and targets.keys().isdisjoint(_equal_targets(store, target, host)):
        _log.warning(
            "%s: none of its %d records counts: they are of %s, and this is %s",
            store.path,
            targets.total(),
            ", ".join(sorted(map(str, targets))),
            target,
        )
    for strategy, count in store.stale(host.revisions).items():
        _log.warning(
            "%s: %d records of another revision of '%s' count as misses",
            store.path,
            count,
            strategy,
        )
