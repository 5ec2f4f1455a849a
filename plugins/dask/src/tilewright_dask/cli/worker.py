"""`tilewright fleet worker`: a device, or cores, of this machine, for whoever drives the fleet."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import click

from tilewright.errors import UsageError
from tilewright_cli.terminal import shared_options as shared
from tilewright_dask.cli import fleet_options


@click.command()
@fleet_options.address
@click.option("--device", default=None, help="As `tilewright targets` calls it.  [cpu]")
@click.option("--builds", is_flag=True, help="Build for devices of others; announce none.")
@click.option("--cores", default=None, help="Those it keeps to, as in 0-7 or 0,2.  [all]")
@fleet_options.host
@fleet_options.tls
@shared.plugin_files
@click.option("--accept-plugins", is_flag=True, help="Run plugin files that drivers send.")
@click.option("--parent", type=int, default=None, hidden=True)
def worker(
    *,
    address: str,
    device: str | None,
    builds: bool,
    cores: str | None,
    host: str,
    tls: Path | None,
    plugin: tuple[Path, ...],
    accept_plugins: bool,
    parent: int | None,
) -> None:
    """Announce a device to the scheduler at ADDRESS, and measure on it until Ctrl-C.

    With --builds, announce cores to spare: code is built on them, for the devices of others.
    """
    from tilewright_dask.security.access import (
        certificates_for,
        check_address,
        check_host,
        security_of,
    )
    from tilewright_dask.worker.announcement import announcement, find_own_device, find_processor
    from tilewright_dask.worker.build_station import BuildStation
    from tilewright_dask.worker.cores import parse_cores
    from tilewright_dask.worker.device_station import DeviceStation
    from tilewright_dask.worker.fleet_worker import FleetWorker
    from tilewright_dask.worker.parent import end_with
    from tilewright_dask.worker.station import Station

    if parent is not None:
        end_with(parent)
    tls = certificates_for(address, tls)
    check_address(address, tls, option="ADDRESS")
    check_host(host, tls)
    security = security_of(tls, "worker")
    kept = parse_cores(cores) if cores is not None else tuple(sorted(os.sched_getaffinity(0)))
    os.sched_setaffinity(0, kept)
    if builds and device is not None:
        raise UsageError("a worker that builds announces no device", where="--device")
    own = None if builds else find_own_device(device or "cpu", plugin)
    station: Station
    if own is None:
        station = BuildStation(find_processor(plugin), plugin, accepts_plugins=accept_plugins)
    else:
        station = DeviceStation(own.device, plugin, accepts_plugins=accept_plugins)
    announced = announcement(own, kept, accepts_plugins=accept_plugins)
    name = f"tilewright-{platform.node()}-{os.getpid()}"
    serving = FleetWorker(address, name, security, host, station, announced, shared.say)
    fleet_options.serve(serving.run())
