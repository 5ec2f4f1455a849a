"""`tilewright network`: the group of verbs for a saved network; entry points `network.NAME`."""

from __future__ import annotations

import click

from tilewright_cli.terminal.group import VerbGroup


@click.group(cls=VerbGroup, prefix="network")
def network() -> None:
    """Show, run, check and time a saved network."""
