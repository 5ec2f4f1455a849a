"""Options that several verbs take, declared once."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright.errors import UsageError
from tilewright.terminal_text import printable

if TYPE_CHECKING:
    from tilewright.host import PluginHost

TUNE_FOLDER = Path("runs/tune")
"""Where `tilewright tune` keeps its records."""

_STDOUT = "tilewright.stdout"

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

plugin_files: Decorator = click.option(
    "--plugin",
    "plugin",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A plugin file to load; may be given several times.",
)


def _answer_alone(ctx: click.Context, _: click.Parameter, value: bool) -> bool:
    """What plugins and their libraries print meanwhile goes to stderr."""
    if value:
        ctx.meta[_STDOUT] = sys.stdout
        ctx.with_resource(redirect_stdout(sys.stderr))
    return value


as_json: Decorator = click.option(
    "--json", "as_json", is_flag=True, callback=_answer_alone, help="Print one JSON object."
)
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
records: Decorator = click.option(
    "--records",
    type=click.Path(path_type=Path),
    help="A records file, in place of the run's.",
)
device: Decorator = click.option("--device", default=None, help="One of the target's devices.")


class _RecordsFile(click.Path):
    """The path of a records file that is there."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(value)
        if not path.is_file():
            raise UsageError("no such records file", where=str(path), remedy="check the path")
        return path


RECORDS_FILE = _RecordsFile()
records_file: Decorator = click.argument("file", type=RECORDS_FILE)


def load_host(files: tuple[Path, ...]) -> PluginHost:
    """The host with these plugin files."""
    from tilewright.host import PluginHost

    return PluginHost.load(files)


def print_json(value: Any) -> None:
    """One JSON object on stdout, indented, in ASCII: a terminal obeys some of the other letters."""
    context = click.get_current_context(silent=True)
    stdout = context.meta.get(_STDOUT) if context is not None else None
    click.echo(json.dumps(value, indent=2, allow_nan=False), file=stdout)


def say(text: object, *, err: bool = False) -> None:
    """Print lines for people, without anything in them that would steer a terminal."""
    click.echo("\n".join(map(printable, str(text).split("\n"))), err=err)
