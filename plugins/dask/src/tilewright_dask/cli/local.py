"""`tilewright fleet local`: a whole fleet on one machine."""

from __future__ import annotations

import click

from tilewright_cli.terminal import shared_options as shared
from tilewright_dask.cli import fleet_options


@click.command()
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Devices.")
@click.option("--builders", type=click.IntRange(0), default=0, show_default=True, help="Besides.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8786, show_default=True, help="0: a free one."
)
@click.option("--device", default="cpu", show_default=True, help="What each worker announces.")
@click.option("--accept-plugins", is_flag=True, help="Run plugin files that drivers send.")
def local(workers: int, builders: int, port: int, device: str, accept_plugins: bool) -> None:
    """Start a scheduler and workers that share the cores of this machine, until Ctrl-C.

    The first line printed is the scheduler's address.
    """
    from tilewright_dask.local_fleet import run_local_fleet

    fleet_options.serve(
        run_local_fleet(
            workers, builders, port, device, accepts_plugins=accept_plugins, say=shared.say
        )
    )
