"""`tilewright fleet ls`: the devices of a fleet."""

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
    """List the devices that are announced to the scheduler at ADDRESS, and what they do.

    Drift is by how much a device is slower than it usually is.
    """
    from tilewright_dask.driver.fleet_link import FleetLink

    link = FleetLink.of(address, tls)
    rows = [one.row() for one in link.run(link.devices())]
    if as_json:
        shared.print_json({"devices": rows})
        return
    if not rows:
        shared.say("no devices")
    for row in rows:
        shared.say(
            f"{row['device']:28}  {row['fingerprint']}  {row['state']:9}  {row['trials']:7} trials"
            f"  {row['trials_per_second']:6.1f} a second  drift {round(100 * row['drift']):+d} %"
        )
