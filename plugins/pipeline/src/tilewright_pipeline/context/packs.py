"""Which of the installed packs a run uses: those of its device, and of devices like it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tilewright.errors import UsageError
from tilewright.roles import TakesRecords

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.roles import RecordStore
    from tilewright.vocabulary.device import Device
    from tilewright_records.packs.record_pack import RecordPack

_ROLE = "record_pack"
_DONORS = 4
"""Devices of a pack whose best configs are proposed, the most similar ones."""

_log = logging.getLogger("tilewright")


@dataclass(frozen=True, slots=True)
class UsedPack:
    """A pack of which a run uses something.

    source   the distribution or file that it comes from
    sha256   of its records
    records  those of the run's device, which count as history
    donors   fingerprints of devices like it, the most similar first, whose best configs are among
             the first that are measured, and decide nothing by themselves
    lines    its records
    """

    name: str
    source: str
    sha256: str
    records: int
    donors: tuple[str, ...]
    lines: Sequence[bytes] = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        """What run.json says of it."""
        told = {"name": self.name, "source": self.source, "sha256": self.sha256}
        return {**told, "records": self.records, "similar_devices": len(self.donors)}


def used_packs(
    device: Device, store: RecordStore, host: PluginHost, *, similar: bool = True
) -> tuple[UsedPack, ...]:
    """The packs of use on a device, by name, taken into the store.

    A pack that is damaged, or of another version, is passed over with a warning. So are all, where
    the store has not `TakesRecords`.

    similar   False: only those with records of this very device
    """
    found = tuple(_usable(device, host, similar=similar))
    if not found:
        return ()
    names, before = ", ".join(pack.name for pack in found), store.stale(host.revisions)
    if not isinstance(store, TakesRecords):
        _log.warning("the record store takes no packs: %s passed over", names)
        return ()
    store.take_records({pack.name: pack.lines for pack in found})
    for strategy, count in (store.stale(host.revisions) - before).items():
        text = "packs %s: %d records of another revision of '%s' count as misses"
        _log.warning(text, names, count, strategy)
    return found


def _usable(device: Device, host: PluginHost, *, similar: bool) -> Iterator[UsedPack]:
    for name in host.components(_ROLE):
        try:
            pack: RecordPack = host.make(_ROLE, name, {}, host)
            records = sum(
                one.records
                for one in pack.manifest.devices
                if one.fingerprint == device.fingerprint
            )
            donors = _donors(pack, device) if similar else ()
            if records or donors:
                source = host.owner(_ROLE, name).source
                sha256 = pack.manifest.sha256
                yield UsedPack(name, source, sha256, records, donors, pack.lines())
        except UsageError as error:
            told = "; ".join(map(str.strip, str(error).splitlines()))
            _log.warning("the pack '%s' is passed over: %s", name, told)


def _donors(pack: RecordPack, device: Device) -> tuple[str, ...]:
    """Fingerprints of its devices that are like this one, the most similar first."""
    from tilewright_records.similarity import LIKE, device_similarity

    known = [one.device for one in pack.manifest.devices]
    alike = {
        other.fingerprint: device_similarity(device, other)
        for other in known
        if other is not None and other.fingerprint != device.fingerprint
    }
    near = sorted((one for one in alike if alike[one] >= LIKE), key=lambda one: -alike[one])
    return tuple(near[:_DONORS])
