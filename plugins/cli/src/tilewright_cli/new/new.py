"""`tilewright new`: the group of generators; entry points `new.NAME` are its verbs."""

from __future__ import annotations

import click

from tilewright_cli.terminal.group import VerbGroup


@click.group(cls=VerbGroup, prefix="new")
def new() -> None:
    """Write something of your own to start from."""
