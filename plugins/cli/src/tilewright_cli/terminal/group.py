"""The lazy group of verbs, and how errors become exit codes."""

from __future__ import annotations

import importlib.metadata
import os
import select
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import click

from tilewright.errors import UsageError, did_you_mean
from tilewright.plugins.catalogue import Catalogue
from tilewright.plugins.loading.distributions import (
    how_to_get,
    missing_distribution,
    who_brings,
)
from tilewright.terminal_text import printable
from tilewright_cli.terminal import shared_options as shared
from tilewright_cli.terminal.entry_point_choices import entry_point_choices
from tilewright_pipeline.context import exit_codes

_OWN = "tilewright-cli"
_GROUP = "tilewright.commands"


class VerbGroup(click.Group):
    """Verbs found by entry points; `bench.peak` is the verb `peak` of the group `bench`.

    Listing them imports no plugin; a verb is imported when it is used.
    """

    def __init__(self, *args: Any, prefix: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._prefix = prefix

    def _verbs(self) -> Catalogue[importlib.metadata.EntryPoint]:
        return entry_point_choices(_GROUP, "command", self._prefix)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._verbs().offers)

    def get_command(
        self,
        ctx: click.Context,
        cmd_name: str,
    ) -> click.Command | None:
        verbs = self._verbs()
        name = verbs.find(cmd_name)
        if name is None:
            return None
        offer = verbs.offers[name]
        try:
            command = offer.value.load()
        except Exception as error:
            error.add_note(f"in the command '{name}' of {offer.owner}")
            raise
        if not isinstance(command, click.Command):
            raise TypeError(f"{offer.value.value} of {offer.owner} is no click command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and self._verbs().find(name) is None:
            raise _unknown(name, self._prefix, self.list_commands(ctx))
        return super().resolve_command(ctx, args)

    def format_commands(
        self,
        ctx: click.Context,
        formatter: click.HelpFormatter,
    ) -> None:
        from tilewright_cli.terminal.verb_summary import verb_summary

        rows = []
        for name, offer in self._verbs().offers.items():
            owner = offer.owner.distribution
            parts = [verb_summary(offer.value), "" if owner == _OWN else f"({owner})"]
            rows.append((printable(name), printable(" ".join(filter(None, parts)))))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _unknown(name: str, prefix: str, known: list[str]) -> UsageError:
    full = f"{prefix}.{name}" if prefix else name
    remedy = how_to_get(who_brings("verbs", full))
    return UsageError(f"no command '{name}'", remedy=remedy or did_you_mean(name, known))


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code; user errors are one message on stderr.

    What a plugin does wrong, calling `sys.exit` included, keeps its traceback.
    """
    _open_closed_streams()
    try:
        result = _tilewright.main(list(arguments), "tilewright", standalone_mode=False)
        return result if isinstance(result, int) else exit_codes.DONE
    except UsageError as error:
        for one in error.each:
            shared.say(f"error: {one}", err=True)
        return exit_codes.USAGE
    except ModuleNotFoundError as error:
        missing = missing_distribution(error)
        if missing is None:
            raise
        shared.say(f"error: {missing}", err=True)
        return exit_codes.USAGE
    except click.ClickException as error:
        _show(error)
        return exit_codes.USAGE
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return exit_codes.INTERRUPTED
    except OSError as error:
        if _raised_in(error).filename != click.utils.__file__:
            raise
        _give_up_stdout()
        click.echo(f"error: the output cannot be written: {error.strerror}", err=True)
        return exit_codes.USAGE
    except SystemExit as error:
        last = _raised_in(error)
        if last.filename == click.core.__file__ and _reader_is_gone():
            _give_up_stdout()
            return exit_codes.DONE
        # Some plugin's code took it upon itself.
        raise RuntimeError(
            f"{last.filename}:{last.lineno} called exit({error.code!r}) in the middle of a run"
        ) from error


def _show(error: click.ClickException) -> None:
    """As Click shows it, but that errors of all kinds begin alike."""
    if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):
        error.show()
        return
    context = getattr(error, "ctx", None)
    if context is not None:
        click.echo(f"{context.get_usage()}\nTry '{context.command_path} --help'.\n", err=True)
    shared.say(f"error: {error.format_message()}", err=True)


def _print_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        click.echo(f"tilewright {importlib.metadata.version('tilewright')}")
        ctx.exit()


@click.group(cls=VerbGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version and exit.",
)
def _tilewright() -> None:
    """Tune tensor programs, choose data layouts, compile networks."""


def _open_closed_streams() -> None:
    """Open the null device for each standard stream that was closed at the start."""
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, descriptor)
            setattr(sys, name, os.fdopen(descriptor, "w" if descriptor else "r"))


def _raised_in(error: BaseException) -> traceback.FrameSummary:
    return traceback.extract_tb(error.__traceback__)[-1]


def _give_up_stdout() -> None:
    """Keep the interpreter from flushing into it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _reader_is_gone() -> bool:
    """Whether the other end of our output is closed: what Click ends a command for."""
    output = select.poll()
    output.register(sys.stdout.fileno(), 0)
    return bool(output.poll(0))
