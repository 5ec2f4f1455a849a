"""Options that several verbs take, declared once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright.errors import UsageError
from tilewright.paths import path_of
from tilewright.strategies.strategy import PRECISIONS
from tilewright.terminal_text import printable
from tilewright_cli.terminal.answer_alone import answer_alone

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright_pipeline.yaml.settings import Setting

TUNE_FOLDER = Path("runs/tune")
TUNE_RECORDS = TUNE_FOLDER / "records.jsonl"
"""Where `tilewright tune` keeps its records, and where they are looked for."""

_STDOUT = "tilewright.stdout"

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class _NamedPath(click.Path):
    """A path that is not empty: an empty one would be the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if not value:
            self.fail("expected a path, got nothing", param, ctx)
        return path_of(value)


NAMED_PATH = _NamedPath()
NAMED_FILE = _NamedPath(dir_okay=False)

plugin_files: Decorator = click.option(
    "--plugin",
    "plugin",
    multiple=True,
    type=NAMED_PATH,
    help="A plugin file to load; may be given several times.",
)


class _ComponentOption(click.Option):
    """An option that names a component of a role, whose default the help has to ask for."""

    def __init__(self, *args: Any, shown: str, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self._shown = shown

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        record = super().get_help_record(ctx)
        with suppress(UsageError):  # where none is the default, or several are
            default = load_host(()).default(str(self.name))
            if record is not None:
                return record[0], "  ".join(filter(None, [record[1], self._shown.format(default)]))
        return record


def component(name: str, *, help: str = "", shown: str = "[default: {}]") -> Decorator:  # noqa: A002
    """An option called after a role; None where it is not given, which means the role's default.

    shown   what the help says of the default
    """
    return click.option(name, cls=_ComponentOption, help=help, shown=shown)


def _answer_alone(ctx: click.Context, _: click.Parameter, value: bool) -> bool:
    if value:
        ctx.meta[_STDOUT] = ctx.with_resource(answer_alone())
    return value


def _always_alone(ctx: click.Context, _: click.Parameter, value: bool) -> bool:
    return _answer_alone(ctx, _, True)


only_json: Decorator = click.option(
    "--json",
    is_flag=True,
    expose_value=False,
    callback=_always_alone,
    help="Changes nothing: it is JSON.",
)
as_json: Decorator = click.option(
    "--json", "as_json", is_flag=True, callback=_answer_alone, help="Print one JSON object."
)
seed: Decorator = click.option("--seed", type=int, default=0, show_default=True)
target: Decorator = component("--target", help="KIND:name=value,... or a short text.")
precision: Decorator = click.option(
    "--precision",
    type=click.Choice(PRECISIONS),
    default=None,
    help="The lowest that strategies may multiply in.  [float32, or as the file says]",
)
settings: Decorator = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="STAGE.OPTION=VALUE",
    help="A value in place of the file's; may be given several times.",
)
runner: Decorator = click.option(
    "--runner", default=None, metavar="NAME[:OPTION=VALUE,...]", help="In place of the file's."
)
builder: Decorator = click.option(
    "--builder", default=None, metavar="NAME[:OPTION=VALUE,...]", help="In place of the file's."
)
device: Decorator = click.option(
    "--device", default=None, help="One of the target's devices; a glob where several measure."
)


def by_dimension(
    _: click.Context, param: click.Parameter, given: tuple[str, ...]
) -> dict[str, str]:
    """The sizes by name. Raises UsageError for another form, and for a name twice."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, sizes = text.rpartition("=")
        if not (name and equals and sizes) or name in found:
            problem = f"{name!r} is given twice" if name in found else f"got {text!r}"
            remedy = "such as --dim batch=8 or --dim batch=1..32"
            raise UsageError(
                f"expected NAME=SIZES once a name; {problem}", where=param.opts[0], remedy=remedy
            )
        found[name] = sizes
    return found


dims: Decorator = click.option(
    "--dim",
    "dims",
    multiple=True,
    metavar="NAME=SIZES",
    callback=by_dimension,
    help="Sizes of a dimension that the model names, in place of the file's: one, or a range such "
    "as batch=1..32, any of which the network then takes; may be given several times.",
)


def setting(key: str, value: Any, flag: str) -> Setting:
    """What a flag sets in the pipeline's file; messages name the flag."""
    from tilewright_pipeline.yaml.settings import Setting

    return Setting(f"{key}={json.dumps(value, ensure_ascii=False, default=str)}", flag)


def dims_settings(sizes: Mapping[str, str]) -> tuple[Setting, ...]:
    """What `--dim` sets of the stage `import`."""
    given = " ".join(f"--dim {name}={size}" for name, size in sizes.items())
    return (setting("import.dims", sizes, given),) if sizes else ()


recorded_spaces: Decorator = click.option(
    "--spaces",
    metavar="NAME,...",
    help="Recorded spaces: installed ones by name or glob, files, folders.  [all installed]",
)
foreign_records: Decorator = click.option(
    "--foreign-records", is_flag=True, help="Start from another device's records."
)


def watch_options(function: Any) -> Any:
    """Declare `quiet` and `events`, which `progress.watched` takes."""
    quiet = click.option("--quiet", is_flag=True, help="Print results only.")
    events = click.option(
        "--events", type=NAMED_FILE, help="Write what happens to this file, a JSON object a line."
    )
    return quiet(events(function))


class _RecordsFile(_NamedPath):
    """The path of a records file that is there."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        from tilewright.paths import check_is_file, names_a_file
        from tilewright_pipeline.api.task_text import names_a_task

        path = super().convert(value, param, ctx)
        if not names_a_file(path) and names_a_task(str(path)) and path.suffix != ".json":
            raise UsageError(
                "expected a records file, got a task",
                where=str(path),
                remedy="the file comes first; of these verbs, `best` takes a task behind it",
            )
        return check_is_file(path, "records file")


RECORDS_FILE = _RecordsFile()
records: Decorator = click.option(
    "--records",
    type=RECORDS_FILE,
    help="A records file to read instead of that of the run, or of `tune`.",
)
records_file: Decorator = click.argument("file", type=RECORDS_FILE, default=TUNE_RECORDS)


def load_host(files: tuple[Path, ...]) -> PluginHost:
    """The host with these plugin files."""
    from tilewright.host.plugin_host import PluginHost

    return PluginHost.load(files)


def print_json(value: Any) -> None:
    """One JSON object on stdout, indented, in ASCII: a terminal obeys some of the other letters."""
    context = click.get_current_context(silent=True)
    stdout = context.meta.get(_STDOUT) if context is not None else None
    click.echo(json.dumps(value, indent=2, allow_nan=False), file=stdout)


def say(text: object, *, err: bool = False) -> None:
    """Print lines for people, without anything in them that would steer a terminal."""
    click.echo("\n".join(map(printable, str(text).split("\n"))), err=err)
