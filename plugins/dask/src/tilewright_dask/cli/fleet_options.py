"""Options that several verbs of `tilewright fleet` take."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import click

from tilewright_cli.terminal import shared_options as shared

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

address: Decorator = click.argument("address", metavar="ADDRESS")
tls: Decorator = click.option(
    "--tls",
    type=shared.NAMED_PATH,
    help="Folder of certificates, as `fleet certs` makes it.  [certs for a tls:// ADDRESS]",
)
host: Decorator = click.option(
    "--host", default="127.0.0.1", show_default=True, help="Interface to listen on."
)


def serve(work: Coroutine[Any, Any, None]) -> None:
    """Run until Ctrl-C, which is how it ends and no failure."""
    try:
        asyncio.run(work)
    except KeyboardInterrupt:
        shared.say("ended", err=True)
