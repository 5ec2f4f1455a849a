"""The live table of a tuning stage, as users of Ansor know it, with the share of peak."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import compress
from typing import TYPE_CHECKING

from tilewright.terminal_text import printable
from tilewright_pipeline.context.time_text import milliseconds_text, time_text

if TYPE_CHECKING:
    from rich.console import JustifyMethod
    from rich.table import Table

    from tilewright.host.plugin_host import PluginHost
    from tilewright.roles import TaskState
    from tilewright_pipeline.context.events import TuneProgress

COLUMNS = ("ID", "Task", "Latency (ms)", "Speed (GFLOP/s)", "Peak", "Trials")
# A terminal less wide leaves them out, so that names keep ten letters on one of 40 columns.
_LEAST_WIDTHS = {"Speed (GFLOP/s)": 64, "Peak": 48}


def tuning_rows(progress: TuneProgress, host: PluginHost) -> Iterator[tuple[str, ...]]:
    """The cells of every task under `COLUMNS`, `-` for what is not known yet."""
    for number, (entry, state) in enumerate(zip(progress.entries, progress.states, strict=True)):
        name = entry.name or entry.task.workload.operator
        yield (str(number), name, *_speed(state, progress, host), str(state.trials))


def tuning_line(progress: TuneProgress) -> str:
    """What stands under the table: estimated total latency, trials, used time, next task."""
    total, following = progress.total_seconds, progress.next_task
    return "   ".join(
        (
            f"Estimated total latency: {'-' if total is None else time_text(total)}",
            f"Trials: {progress.trials}",
            f"Used time: {progress.seconds:.0f} s",
            f"Next ID: {'-' if following is None else following}",
        )
    )


def tuning_table(progress: TuneProgress, host: PluginHost, width: int, height: int) -> Table:
    """The table for a terminal; of more tasks than `height` those that add most to the total."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    fitting = [width >= _LEAST_WIDTHS.get(column, 0) for column in COLUMNS]
    for column in compress(COLUMNS, fitting):
        # Columns that may wrap give way in a narrow terminal: names, whose cells then do not wrap.
        name = column == "Task"
        justify: JustifyMethod = "left" if name else "right"
        table.add_column(column, justify=justify, no_wrap=not name)
    shown = _costliest(progress, height)
    for number, cells in enumerate(tuning_rows(progress, host)):
        if number in shown:
            style = "bold" if number == progress.next_task else ""
            line = (Text(printable(cell), no_wrap=True, overflow="ellipsis") for cell in cells)
            table.add_row(*compress(line, fitting), style=style)
    if (missing := len(progress.entries) - len(shown)) > 0:
        table.add_row("", f"and {missing} that add less to the total", style="dim")
    return table


def _costliest(progress: TuneProgress, height: int) -> set[int]:
    """Numbers of the tasks that are shown: what has no time yet goes last, the next one first."""

    def cost(number: int) -> tuple[bool, float]:
        state = progress.states[number]
        return number == progress.next_task, state.weight * (state.best_seconds or 0.0)

    numbers = range(len(progress.states))
    if len(numbers) <= height:
        return set(numbers)
    return set(sorted(numbers, key=cost, reverse=True)[: max(1, height - 1)])


def _speed(state: TaskState, progress: TuneProgress, host: PluginHost) -> tuple[str, str, str]:
    """Latency, speed and share of the peak of the best's precision."""
    if state.best_seconds is None or state.strategy is None:
        return "-", "-", "-"
    operations = host.reference(state.task.workload.operator).operations(state.task.workload)
    rate = operations / state.best_seconds
    precision = host.strategy(state.strategy).precision_of(state.task)
    peak = progress.device.peak(precision, state.task.target.threads)
    share = f"{rate / peak:.0%}" if peak else "-"
    return milliseconds_text(state.best_seconds), f"{rate / 1e9:.1f}", share
