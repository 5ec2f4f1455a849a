"""The live display as lines, for any width."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tilewright.terminal_text import printable
from tilewright_cli.progress import run_texts as texts
from tilewright_cli.progress.tuning_table import table_lines
from tilewright_pipeline.context.time_text import time_text

if TYPE_CHECKING:
    from rich.text import Text

    from tilewright_cli.progress.glyphs import Glyphs
    from tilewright_cli.progress.run_view import RunView
    from tilewright_cli.progress.task_facts import TaskFacts
    from tilewright_pipeline.context.events import TuneProgress

_LABEL = 9
_GAP = 2
_LEAST_DRAWN, _MOST_DRAWN = 6, 80
# What is drawn stays in its place while the digits before it come and go.
_STEADY = 10


class _Part(NamedTuple):
    """A piece of a line; what has the highest rank is left out first."""

    text: str
    rank: int = 0
    style: str = ""


# Pieces that together are as wide as they are told to be.
_Drawn = Callable[[int], Sequence[_Part]]


def live_lines(
    view: RunView, facts: TaskFacts, size: tuple[int, int], glyphs: Glyphs
) -> list[Text]:
    """At most as many lines as the size (columns, lines) has, and none wider.

    First how far the run is, then a table of the tasks that are tuned, if any. What does not fit
    is left out, what matters least first.
    """
    from rich.text import Text

    width, height = size
    head = _head(view, facts, glyphs)
    lines = [_line(label, parts, drawn, width, glyphs) for label, parts, drawn in head]
    if view.tuning is not None:
        table = table_lines(view.tuning, facts, width, height - len(lines) - 1, glyphs)
        lines += [Text(), *table] if table else []
    return lines[:height]


def _head(
    view: RunView, facts: TaskFacts, glyphs: Glyphs
) -> Iterator[tuple[str, list[_Part], _Drawn | None]]:
    """Labels, what stands behind them, and what is drawn behind the first piece of it.

    Nothing between a run's last stage and its end.
    """
    if view.run is not None:
        if (name := view.stage_name) is None:
            return
        count, seconds = len(view.run.stages), texts.duration_text(view.now - view.stage_start)
        at = f"{view.stage + 1} of {count}: {printable(name)}, {seconds}"
        yield "stage", [_Part(at, 0, "bold"), _Part(_trail(view, glyphs), 1)], None
    yield "left", *_left(view, glyphs)
    tuning = view.tuning
    if tuning is not None:
        yield "total" if len(tuning.states) > 1 else "best", *_total(view, tuning, glyphs)
        if (number := tuning.next_task) is not None:
            name = facts.name(tuning.entries[number])
            yield "now", [_Part(f"{number}  {name}", 0, "bold cyan")], None
        yield "trials", list(_trials(view, tuning)), None
    problems = enumerate(texts.problem_texts(view))
    wrong = [_Part(text, rank, "yellow") for rank, text in problems]
    yield "machine", wrong or [_Part(texts.calm_text(view), 0, "dim")], None


def _trail(view: RunView, glyphs: Glyphs) -> str:
    """All stages, those that have ended marked."""
    assert view.run is not None, "only a run has stages"
    stages = list(map(printable, view.run.stages))
    ended = [f"{name} {glyphs.done}" for name in stages[: view.stage]]
    at = f"{glyphs.at} {stages[view.stage]}"
    return (" " * _GAP).join([*ended, at, *stages[view.stage + 1 :]])


def _left(view: RunView, glyphs: Glyphs) -> tuple[list[_Part], _Drawn | None]:
    parts = [_Part(texts.left_text(view).ljust(_STEADY), 0, "bold")]
    parts.append(_Part(texts.spent_text(view), 2))
    later = len(view.run.stages) - view.stage - 1 if view.run is not None else 0
    if later > 0:
        parts.append(_Part(f"then {later} more stage{'s' if later > 1 else ''}", 1, "dim"))
    share = view.done_share
    if share is None:
        return parts, None

    def bar(width: int) -> list[_Part]:
        full, empty = glyphs.bar(share, width)
        return [_Part(full, style="green"), _Part(empty, style="dim")]

    return parts, bar


def _total(
    view: RunView, tuning: TuneProgress, glyphs: Glyphs
) -> tuple[list[_Part], _Drawn | None]:
    parts = [_Part(texts.total_text(tuning).ljust(_STEADY), 0, "bold green")]
    if not view.totals:
        return parts, None
    parts.append(_Part(f"{time_text(view.totals[0][1])} at first", 1, "dim"))
    until = view.now - view.tuning_start
    return parts, lambda width: [_Part(glyphs.curve(view.totals, until, width), style="green")]


def _trials(view: RunView, tuning: TuneProgress) -> Iterator[_Part]:
    yield _Part(str(tuning.trials), 0, "bold")
    yield _Part(texts.rate_text(view), 1)
    if view.failures:
        yield _Part(f"{sum(view.failures.values())} failed", 0, "yellow")
        yield _Part(f"({texts.failures_text(view.failures)})", 2)
    elif view.measured:
        yield _Part("none failed", 2, "dim")


def _line(label: str, parts: list[_Part], drawn: _Drawn | None, width: int, glyphs: Glyphs) -> Text:
    """The parts that fit, and what is drawn behind the first of them, where there is room."""
    from rich.cells import cell_len
    from rich.text import Text

    room = width - _LABEL
    least = _LEAST_DRAWN + _GAP if drawn is not None else 0
    kept = [part for part in parts if part.text]

    def over() -> int:
        taken = sum(cell_len(part.text) for part in kept) + _GAP * (len(kept) - 1)
        return taken + least - room

    while over() > 0 and len(kept) > 1:
        kept.remove(max(kept, key=lambda part: part.rank))
    pieces = [[part] for part in kept]
    if drawn is not None and over() <= 0:
        pieces.insert(1, list(drawn(min(_MOST_DRAWN, _LEAST_DRAWN - over()))))
    line = Text(no_wrap=True).append(label.ljust(_LABEL), "dim")
    for number, piece in enumerate(pieces):
        line.append(" " * _GAP if number else "")
        for text, _, style in piece:
            line.append(glyphs.fitted(text, width - line.cell_len), style)
    line.rstrip()
    return line
