"""Options that several verbs take, declared once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from tilewright.host import PluginHost

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

plugin_files: Decorator = click.option(
    "--plugin",
    "plugin",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A plugin file to load; may be given several times.",
)
as_json: Decorator = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
quiet: Decorator = click.option("--quiet", is_flag=True, help="Print results only.")
seed: Decorator = click.option("--seed", type=int, default=0, show_default=True)
target: Decorator = click.option(
    "--target", default="native", show_default=True, help="KIND:name=value,... or a short text."
)
settings: Decorator = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="STAGE.OPTION=VALUE",
    help="A value in place of the file's; may be given several times.",
)
device: Decorator = click.option("--device", default=None, help="One of the target's devices.")


def load_host(files: tuple[Path, ...]) -> PluginHost:
    """The host with these plugin files."""
    from tilewright.host import PluginHost

    return PluginHost.load(files)


def print_json(value: Any) -> None:
    """One JSON object on stdout, indented."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
