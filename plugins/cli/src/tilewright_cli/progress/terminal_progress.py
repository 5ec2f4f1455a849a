"""Shows a run while it goes on and its tables at the end; a plugin like any other."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tilewright.plugins.plugin import hookimpl
from tilewright.terminal_text import printable
from tilewright_cli.progress.drawn_lines import DrawnLines
from tilewright_cli.progress.glyphs import glyphs_for
from tilewright_cli.progress.live_lines import live_lines
from tilewright_cli.progress.machine_watch import MachineWatch
from tilewright_cli.progress.run_texts import plain_line
from tilewright_cli.progress.run_view import RunView
from tilewright_cli.progress.task_facts import TaskFacts
from tilewright_pipeline.context.exit_codes import DONE, FAILED, INTERRUPTED, PARTIAL

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod, RenderableType
    from rich.live import Live

    from tilewright.host.plugin_host import PluginHost
    from tilewright.vocabulary.measure import Trial
    from tilewright_pipeline.context.events import (
        RunInfo,
        RunOutcome,
        Section,
        StageOutcome,
        TuneProgress,
    )

_LINE_EVERY_SECONDS = 30.0
# Each costs the machine that measures a millisecond.
_DRAWN_A_SECOND = 2
# Of the tables at the end. A narrower terminal wraps their lines; broken names nobody could read.
_TABLE_WIDTH = 200


class TerminalProgress:
    """On stderr: a live display on a terminal; elsewhere a line every 30 s and after each stage.

    >>> progress = TerminalProgress()
    >>> host = PluginHost.load(files, [progress])
    >>> progress.watch(host)        # operations of a task, for GFLOP/s
    >>> progress.stop()             # where no pipeline runs that would end it

    quiet    only the tables at the end, on stdout
    summary  False: not even those
    """

    def __init__(self, *, quiet: bool = False, summary: bool = True) -> None:
        self._quiet = quiet
        self._summary = summary
        self._host: PluginHost | None = None
        self._live: Live | None = None
        self._last_line = time.monotonic()
        self._view = RunView()
        self._machine = MachineWatch()

    def watch(self, host: PluginHost) -> None:
        """The host whose run is shown, or an equal one."""
        self._host = host

    def stop(self) -> None:
        """Take the live display off the screen; a pipeline's end does it as well."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    # --- hooks -----------------------------------------------------------------------------------

    @hookimpl
    def tilewright_run_started(self, run: RunInfo) -> None:
        now = time.monotonic()
        self._view = RunView(now, run=run, stage_start=now)
        if self._quiet:
            return
        console = _console(sys.stderr)
        model = run.device.attributes.get("model", run.device.name)
        console.print(
            f"{printable(run.name)} on {run.target}, {printable(str(model))}", style="bold"
        )
        self._start_live(console)

    @hookimpl
    def tilewright_stage_finished(self, outcome: StageOutcome) -> None:
        self._view = self._view.stage_ended(time.monotonic())
        if outcome.status == "skipped":
            return
        count = outcome.report.get("measurement", {}).get("trials", 0)
        trials = f", {count} trials" if count or outcome.name == "tune" else ""
        self._say(f"{outcome.name}: {outcome.status} in {outcome.seconds:.1f} s{trials}")

    @hookimpl
    def tilewright_batch_scheduled(self, progress: TuneProgress) -> None:
        now = time.monotonic()
        self._view = self._view.scheduled(progress, now)
        if self._quiet:
            return
        if self._view.run is None:
            self._start_live(_console(sys.stderr))
        if self._live is None and now - self._last_line > _LINE_EVERY_SECONDS:
            self._say(plain_line(self._view.at(now, self._machine.state())))

    @hookimpl
    def tilewright_batch_measured(self, trials: Sequence[Trial]) -> None:
        self._view = self._view.took(trials)

    @hookimpl
    def tilewright_run_finished(self, run: RunInfo, outcome: RunOutcome) -> None:
        self.stop()
        if self._summary and self._host is not None:
            from tilewright_pipeline.context.events import RunSummary, Section

            console, hook = _console(sys.stdout, _TABLE_WIDTH), "tilewright_summary_sections"
            summary = RunSummary(run, outcome.report)
            for section in self._host.hook_values(hook, Section, summary=summary):
                console.print(_table(section))
        ending = {
            DONE: "done",
            FAILED: "a check failed",
            PARTIAL: "partial result",
            INTERRUPTED: "interrupted",
        }
        report = f", see {run.folder / 'run.json'}" if outcome.exit_code in ending else ""
        words = ending.get(outcome.exit_code, "stopped")
        self._say(f"{words} after {outcome.seconds:.1f} s{report}")

    # --- what is shown ---------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        self._last_line = time.monotonic()
        if self._quiet:
            return
        if self._live is not None:
            self._live.refresh()  # what is said has changed what is shown
        console = self._live.console if self._live is not None else _console(sys.stderr)
        console.print(printable(text), markup=False, highlight=False)

    def _start_live(self, console: Console) -> None:
        # Rich calls a file a terminal where FORCE_COLOR is set.
        interactive = sys.stderr.isatty() and not console.is_dumb_terminal
        if self._live is None and self._host is not None and interactive:
            from rich.live import Live

            self._live = Live(
                console=console,
                refresh_per_second=_DRAWN_A_SECOND,
                transient=True,
                vertical_overflow="crop",
                get_renderable=partial(
                    self._drawn, console, TaskFacts(self._host), DrawnLines(console)
                ),
            )
            self._live.start()

    def _drawn(self, console: Console, facts: TaskFacts, drawn: DrawnLines) -> RenderableType:
        width, height = console.size
        size, glyphs = (width, height - 1), glyphs_for(console.encoding)
        view = self._view.at(time.monotonic(), self._machine.state())
        return drawn.replaced(live_lines(view, facts, size, glyphs))


def _console(stream: Any, width: int | None = None) -> Console:
    from rich.console import Console

    class PatientConsole(Console):
        """Where the reader of a pipe goes away, printing ends, not the run."""

        def on_broken_pipe(self) -> None:
            self.quiet = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())

    # A file or pipe has no width.
    width = width or (None if stream.isatty() else _TABLE_WIDTH)
    return PatientConsole(file=stream, width=width, highlight=False)


def _table(section: Section) -> RenderableType:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    title = Text(printable(section.title))
    table = Table(title=title, box=box.SIMPLE, title_justify="left", padding=(0, 1, 0, 0))
    for position, column in enumerate(section.columns):
        numbers = all(row[position][:1].isdigit() or row[position] == "-" for row in section.rows)
        justify: JustifyMethod = "right" if numbers else "left"
        # What is wider still has its words broken, never its numbers.
        table.add_column(Text(printable(column)), justify=justify, no_wrap=numbers, overflow="fold")
    for row in section.rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table
