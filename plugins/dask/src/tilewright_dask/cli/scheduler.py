"""`tilewright fleet scheduler`: what workers announce their devices to."""

from __future__ import annotations

from pathlib import Path

import click

from tilewright_cli.terminal import shared_options as shared
from tilewright_dask.cli import fleet_options


@click.command()
@fleet_options.host
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8786, show_default=True, help="0: a free one."
)
@click.option("--dashboard-port", type=click.IntRange(0, 65535), default=0, help="[a free one]")
@fleet_options.tls
def scheduler(host: str, port: int, dashboard_port: int, tls: Path | None) -> None:
    """Start a scheduler, until Ctrl-C; any other Dask scheduler does as well.

    Its dashboard listens on 127.0.0.1 alone, for it has no encryption.
    """
    from tilewright_dask.fleet_scheduler import run_scheduler

    fleet_options.serve(
        run_scheduler(host, port, tls, dashboard_port=dashboard_port, say=shared.say)
    )
