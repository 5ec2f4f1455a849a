"""`tilewright fleet`: the group of what makes and shows a fleet of devices."""

from __future__ import annotations

import click

from tilewright_cli.terminal.group import VerbGroup


@click.group(cls=VerbGroup, prefix="fleet")
def fleet() -> None:
    """Measure on many machines at once."""
