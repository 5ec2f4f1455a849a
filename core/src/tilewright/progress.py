"""Shows a run while it goes on and its tables at the end; a plugin like any other."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilewright.plugin import hookimpl

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod, RenderableType
    from rich.live import Live

    from tilewright.events import RunInfo, RunOutcome, Section, StageOutcome, TuneOutcome
    from tilewright.host import PluginHost
    from tilewright.measure import Trial
    from tilewright.task import Task
    from tilewright.tuning.budget import Budget

_LINE_EVERY_SECONDS = 30.0


class Progress:
    """On stderr: a live panel on a terminal; elsewhere a line every 30 s and after each stage.

    >>> progress = Progress()
    >>> host = PluginHost.load(files, [progress])
    >>> progress.watch(host)        # operations of a task, for GFLOP/s

    quiet    only the tables at the end, on stdout
    summary  False: not even those
    """

    def __init__(self, *, quiet: bool = False, summary: bool = True) -> None:
        self._quiet = quiet
        self._summary = summary
        self._host: PluginHost | None = None
        self._run: RunInfo | None = None
        self._live: Live | None = None
        self._done: list[StageOutcome] = []
        self._task: Task | None = None
        self._trials = 0
        self._failures: Counter[str] = Counter()
        self._best: dict[str, float] = {}
        self._start = self._stage_start = self._last_line = time.monotonic()

    def watch(self, host: PluginHost) -> None:
        """The host whose run is shown."""
        self._host = host

    # --- hooks -----------------------------------------------------------------------------------

    @hookimpl
    def tilewright_run_started(self, run: RunInfo) -> None:
        self._run = run
        self._done.clear()
        if self._quiet:
            return
        console = _console(sys.stderr)
        model = run.device.attributes.get("model", run.device.name)
        console.print(f"{_safe(run.name)} on {run.target}, {_safe(str(model))}", style="bold")
        if console.is_terminal:
            from rich.live import Live

            self._live = Live(
                console=console, refresh_per_second=4, transient=True, get_renderable=self._panel
            )
            self._live.start()

    @hookimpl
    def tilewright_stage_finished(self, outcome: StageOutcome) -> None:
        self._done.append(outcome)
        self._stage_start = time.monotonic()
        if outcome.status == "skipped":
            return
        count = outcome.report.get("measurement", {}).get("trials", 0)
        trials = f", {count} trials" if count or outcome.name == "tune" else ""
        self._say(f"{outcome.name}: {outcome.status} in {outcome.seconds:.1f} s{trials}")

    @hookimpl
    def tilewright_task_started(self, task: Task) -> None:
        self._task = task

    @hookimpl
    def tilewright_batch_measured(self, task: Task, trials: Sequence[Trial]) -> None:
        self._task = task
        self._trials += len(trials)
        for trial in trials:
            if trial.result.failure is not None:
                self._failures[str(trial.result.failure.kind)] += 1
            elif (seconds := trial.result.seconds) is not None:
                self._best[task.key] = min(seconds, self._best.get(task.key, seconds))
        if self._live is None and time.monotonic() - self._last_line > _LINE_EVERY_SECONDS:
            self._say("; ".join(f"{name} {text}" for name, text in self._facts()))

    @hookimpl
    def tilewright_task_finished(self, task: Task, outcome: TuneOutcome) -> None:
        if outcome.best_seconds is None and outcome.errors:
            self._say(f"{self._title(task)}: all {outcome.trials} trials failed")
            for error in outcome.errors:
                self._say(f"  {error}")

    @hookimpl
    def tilewright_run_finished(self, run: RunInfo, outcome: RunOutcome) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
        if self._summary and self._host is not None:
            from tilewright.events import RunSummary

            console = _console(sys.stdout)
            summary = RunSummary(run, outcome.report)
            for section in self._host.hook_values("tilewright_summary_sections", summary=summary):
                console.print(_table(section))
        ending = {0: "done", 1: "a check failed", 3: "partial result", 130: "interrupted"}
        report = f", see {run.folder / 'run.json'}" if outcome.exit_code in ending else ""
        words = ending.get(outcome.exit_code, "stopped")
        self._say(f"{words} after {outcome.seconds:.1f} s{report}")

    # --- what is shown ---------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        self._last_line = time.monotonic()
        if not self._quiet:
            console = self._live.console if self._live is not None else _console(sys.stderr)
            console.print(_safe(text), markup=False, highlight=False)

    def _panel(self) -> RenderableType:
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 2))
        for name, value in self._facts():
            grid.add_row(Text(name, style="dim"), Text(value))
        return grid

    def _facts(self) -> list[tuple[str, str]]:
        """The state in words: stage, task, trials, best, failures, time left."""
        if self._run is None:
            return [("trials", str(self._trials))]
        stages, now = self._run.stages, time.monotonic()
        if len(self._done) >= len(stages):
            return []
        stage = stages[len(self._done)]
        spent = now - self._stage_start
        facts = [("stage", f"{stage} ({len(self._done) + 1} of {len(stages)}), {spent:.0f} s")]
        if stage != "tune" or self._task is None:
            return facts
        failed = ", ".join(f"{count} {kind}" for kind, count in self._failures.most_common())
        rate = self._trials / spent if spent > 0 else 0.0
        facts += [
            ("task", self._title(self._task)),
            ("trials", f"{self._trials}, {rate:.1f} a second"),
            ("best", self._best_of(self._task)),
            ("failures", failed or "none"),
        ]
        if self._run.budget is not None:
            facts.append(("left", _left(self._run.budget, spent, self._trials)))
        return facts

    def _title(self, task: Task) -> str:
        if self._host is None:
            return task.key
        return _safe(self._host.reference(task.workload.operator).format(task.workload))

    def _best_of(self, task: Task) -> str:
        seconds = self._best.get(task.key)
        if seconds is None or self._host is None or self._run is None:
            return "-"
        flops = self._host.reference(task.workload.operator).operations(task.workload) / seconds
        peak = self._run.device.peak_flops.get(task.target.threads)
        share = f", {flops / peak:.0%} of peak" if peak else ""
        return f"{seconds * 1e3:.4f} ms, {flops / 1e9:.1f} GFLOP/s{share}"


def _left(budget: Budget, spent: float, trials: int) -> str:
    left = budget.less(spent, trials)
    return f"{left.seconds:.0f} s" if left.seconds is not None else f"{left.trials} trials"


def _console(stream: Any) -> Console:
    from rich.console import Console

    # A file or pipe has no width; tables must not be cut there.
    return Console(file=stream, width=None if stream.isatty() else 200, highlight=False)


def _table(section: Section) -> RenderableType:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    title = Text(_safe(section.title))
    table = Table(title=title, box=box.SIMPLE, title_justify="left", padding=(0, 1, 0, 0))
    for position, column in enumerate(section.columns):
        numbers = all(row[position][:1].isdigit() or row[position] == "-" for row in section.rows)
        justify: JustifyMethod = "right" if numbers else "left"
        # On a narrow terminal words are broken, numbers never.
        table.add_column(Text(_safe(column)), justify=justify, no_wrap=numbers, overflow="fold")
    for row in section.rows:
        table.add_row(*(Text(_safe(cell)) for cell in row))
    return table


def _safe(text: str) -> str:
    """Names come from files of strangers: control characters would steer the terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
