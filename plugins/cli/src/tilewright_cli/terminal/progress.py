"""Shows a run while it goes on and its tables at the end; a plugin like any other."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilewright.plugins.plugin import hookimpl
from tilewright.terminal_text import printable
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
# Of the tables at the end. A narrower terminal wraps their lines; broken names nobody could read.
_TABLE_WIDTH = 200
# Lines of the screen that are not the table's rows: its head, what stands below, the prompt.
_AROUND = 8


class Progress:
    """On stderr: a live table on a terminal; elsewhere a line every 30 s and after each stage.

    >>> progress = Progress()
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
        self._run: RunInfo | None = None
        self._live: Live | None = None
        self._done = 0  # stages
        self._tuning: TuneProgress | None = None
        self._failures: Counter[str] = Counter()
        self._stage_start = self._batch_start = self._last_line = time.monotonic()

    def watch(self, host: PluginHost) -> None:
        """The host whose run is shown."""
        self._host = host

    def stop(self) -> None:
        """Take the live table off the screen; a pipeline's end does it as well."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    # --- hooks -----------------------------------------------------------------------------------

    @hookimpl
    def tilewright_run_started(self, run: RunInfo) -> None:
        self._run = run
        self._done = 0
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
        self._done += 1
        self._tuning = None
        self._failures.clear()
        self._stage_start = time.monotonic()
        if outcome.status == "skipped":
            return
        count = outcome.report.get("measurement", {}).get("trials", 0)
        trials = f", {count} trials" if count or outcome.name == "tune" else ""
        self._say(f"{outcome.name}: {outcome.status} in {outcome.seconds:.1f} s{trials}")

    @hookimpl
    def tilewright_batch_scheduled(self, progress: TuneProgress) -> None:
        self._tuning, self._batch_start = progress, time.monotonic()
        if self._quiet:
            return
        if self._run is None:
            self._start_live(_console(sys.stderr))
        if self._live is None and time.monotonic() - self._last_line > _LINE_EVERY_SECONDS:
            from tilewright_cli.terminal.tuning_table import tuning_line

            self._say("   ".join([tuning_line(progress), *self._facts()]))

    @hookimpl
    def tilewright_batch_measured(self, trials: Sequence[Trial]) -> None:
        for trial in trials:
            if trial.result.failure is not None:
                self._failures[str(trial.result.failure.kind)] += 1

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
        if not self._quiet:
            console = self._live.console if self._live is not None else _console(sys.stderr)
            console.print(printable(text), markup=False, highlight=False)

    def _start_live(self, console: Console) -> None:
        if console.is_terminal and self._live is None:
            from rich.live import Live

            self._live = Live(
                console=console, refresh_per_second=4, transient=True, get_renderable=self._panel
            )
            self._live.start()

    def _panel(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        from tilewright_cli.terminal.tuning_table import tuning_line, tuning_table

        lines = [Text("  ".join(facts), style="dim")] if (facts := self._facts()) else []
        if self._tuning is None or self._host is None:
            return Group(*lines)
        width, height = self._live.console.size if self._live is not None else (80, 24)
        table = tuning_table(self._tuning, self._host, width, height - _AROUND)
        return Group(table, Text(tuning_line(self._tuning)), *lines)

    def _facts(self) -> list[str]:
        """The state of the run: stage and its seconds, failures, remaining budget."""
        spent = time.monotonic() - self._stage_start
        facts = []
        if self._run is not None and self._done < len(stages := self._run.stages):
            stage = stages[self._done]
            facts.append(f"stage {stage} ({self._done + 1} of {len(stages)}), {spent:.0f} s")
        if self._tuning is not None:
            failed = ", ".join(f"{count} {kind}" for kind, count in self._failures.most_common())
            facts.append(f"failures: {failed or 'none'}")
            if (left := self._tuning.left) is not None:
                left = left.less(time.monotonic() - self._batch_start, 0)
                trials = f"{left.trials} trials"
                facts.append(f"left: {trials if left.seconds is None else f'{left.seconds:.0f} s'}")
        return facts


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
