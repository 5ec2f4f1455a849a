"""`tilewright bench`: the group of benchmarks; entry points `bench.NAME` are its verbs."""

from __future__ import annotations

import click

from tilewright_cli.terminal.group import VerbGroup


@click.group(cls=VerbGroup, prefix="bench")
def bench() -> None:
    """Benchmarks of devices and networks."""
