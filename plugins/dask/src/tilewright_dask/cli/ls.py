"""`tilewright fleet ls`: the devices and builders of a fleet."""

from __future__ import annotations

from pathlib import Path

import click

from tilewright_cli.terminal import shared_options as shared
from tilewright_dask.cli import fleet_options


@click.command()
@fleet_options.address
@fleet_options.tls
@shared.as_json
def ls(address: str, tls: Path | None, as_json: bool) -> None:
    """List the devices and builders that are announced to the scheduler at ADDRESS.

    Drift is by how much a device is slower than it usually is.
    """
    from tilewright_dask.driver.fleet_device import FleetDevice
    from tilewright_dask.driver.fleet_link import FleetLink
    from tilewright_dask.worker.cores import cores_text

    link = FleetLink.of(address, tls)
    members = link.run(link.members())
    devices = [one.row() for one in members if isinstance(one, FleetDevice)]
    builders = [one for one in members if not isinstance(one, FleetDevice)]
    if as_json:
        shared.print_json({"devices": devices, "builders": [one.row() for one in builders]})
        return
    if not devices:
        shared.say("no devices")
    for row in devices:
        shared.say(
            f"{row['device']:28}  {row['fingerprint']}  {row['state']:9}  {row['trials']:7} trials"
            f"  {row['trials_per_second']:6.1f} a second  drift {round(100 * row['drift']):+d} %"
        )
    for one in builders:
        row = one.row()
        cores = f"cores {cores_text(row['cores'])}"
        shared.say(f"{one.name:28}  {cores:16}  {row['state']:9}  {row['built']:7} built")
