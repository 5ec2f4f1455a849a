"""`tilewright fleet certs`: certificates for a fleet of several machines."""

from __future__ import annotations

from pathlib import Path

import click

from tilewright_cli.terminal import shared_options as shared


@click.command()
@click.argument("folder", type=shared.NAMED_PATH)
@click.option("--days", type=click.IntRange(1), default=365, show_default=True, help="Valid for.")
def certs(folder: Path, days: int) -> None:
    """Make an authority, and certificates for scheduler, workers and drivers.

    Whoever has a key of them can run code on every machine of the fleet. A folder that has the
    authority already (ca.pem, ca-key.pem) gets certificates by it.
    """
    from tilewright_dask.security.certificates import make_certificates

    for path in make_certificates(folder, days):
        shared.say(path)
