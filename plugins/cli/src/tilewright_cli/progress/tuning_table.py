"""The table of the tasks of a tuning stage, with the share of peak."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilewright.terminal_text import printable
from tilewright_pipeline.context.time_text import milliseconds_text

if TYPE_CHECKING:
    from rich.text import Text

    from tilewright_cli.progress.glyphs import Glyphs
    from tilewright_cli.progress.task_facts import TaskFacts
    from tilewright_pipeline.context.events import TuneProgress

_GAP = 2


@dataclass(frozen=True, slots=True)
class _Column:
    """A head, and the least width of a terminal that has room for it beside readable names."""

    head: str
    least_width: int = 0
    text: bool = False


COLUMNS = (
    _Column("ID"),
    _Column("Task", text=True),
    _Column("ms"),
    _Column("GFLOP/s", 64),
    _Column("Peak", 48),
    _Column("Share", 72),
    _Column("Trials"),
    _Column("Failed", 80),
    _Column("Strategy", 112, text=True),
)
_TASK = 1


def tuning_rows(
    progress: TuneProgress, facts: TaskFacts, numbers: Sequence[int]
) -> Iterator[tuple[str, ...]]:
    """The cells of these tasks under `COLUMNS`, `-` for what is not known yet."""
    total = progress.total_seconds
    for number in numbers:
        entry, state = progress.entries[number], progress.states[number]
        best, share = state.best_seconds, "-"
        if total and best is not None:
            share = f"{state.weight * best / total:.0%}"
        rate, peak = facts.speed(state, progress.device)
        yield (
            str(number),
            facts.name(entry),
            "-" if best is None else milliseconds_text(best),
            rate,
            peak,
            share,
            str(state.trials),
            str(state.failures or "-"),
            printable(state.strategy or "-"),
        )


def table_lines(
    progress: TuneProgress, facts: TaskFacts, width: int, height: int, glyphs: Glyphs
) -> list[Text]:
    """Head, rule and rows, at most `height` lines of at most `width`; none where none fits.

    Of more tasks than that those that add most to the total, and the next.
    """
    from rich.cells import cell_len
    from rich.text import Text

    room = height - 2
    if room < 1:
        return []
    shown = _costliest(progress, room)
    fitting = [place for place, column in enumerate(COLUMNS) if width >= column.least_width]
    rows = [list(row) for row in tuning_rows(progress, facts, shown)]
    following = progress.next_task
    for number, row in zip(shown, rows, strict=True):
        row[0] = (glyphs.at if number == following else "") + row[0]
    heads = [column.head for column in COLUMNS]
    # Columns keep their widths while other tasks are shown.
    name = max(map(facts.name, progress.entries), key=cell_len, default="")
    widest = [f"{glyphs.at}{len(progress.entries) - 1}", name, "0.000000"]
    widest += [""] * (len(heads) - len(widest))
    cells = [[row[place] for place in fitting] for row in (heads, widest, *rows)]
    widths = _widths(cells, width)

    def line(row: Sequence[str], style: str = "") -> Text:
        text = Text(style=style, no_wrap=True)
        for place, cell, size in zip(fitting, row, widths, strict=True):
            cut = glyphs.fitted(cell, size)
            missing = " " * (size - cell_len(cut))
            text.append(" " * (_GAP if text else 0))
            text.append(cut + missing if COLUMNS[place].text else missing + cut)
        text.rstrip()
        return text

    rule = glyphs.rule * (sum(widths) + _GAP * (len(widths) - 1))
    lines = [line(cells[0], "bold"), Text(rule, style="dim", no_wrap=True)]
    for number, row in zip(shown, cells[2:], strict=True):
        lines.append(line(row, "bold cyan" if number == following else ""))
    if (missing := len(progress.entries) - len(shown)) > 0:
        more = glyphs.fitted(f"and {missing} that add less to the total", width)
        lines.append(Text(more, style="dim", no_wrap=True))
    return lines


def _widths(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Of the columns that fit: names give way to the numbers."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    over = sum(widths) + _GAP * (len(widths) - 1) - width
    if over > 0 and COLUMNS[-1].least_width <= width:
        given = min(over, max(0, widths[-1] - len(COLUMNS[-1].head)))
        widths[-1] -= given
        over -= given
    widths[_TASK] = max(1, widths[_TASK] - max(0, over))
    return widths


def _costliest(progress: TuneProgress, height: int) -> list[int]:
    """Numbers of the tasks that are shown: what has no time yet goes last, the next one first."""

    def cost(number: int) -> tuple[bool, float]:
        state = progress.states[number]
        return number == progress.next_task, state.weight * (state.best_seconds or 0.0)

    numbers = range(len(progress.states))
    if len(numbers) <= height:
        return list(numbers)
    return sorted(sorted(numbers, key=cost, reverse=True)[: max(1, height - 1)])
