"""Makes RESULTS.md and its charts from the data in results/.

    uv run python benchmarks/page.py [--check]

Of each machine and each state it was in, the newest day counts; what ran in one state on one day is
told as the median of all runs, of several cases as the geometric mean of their ratios, with the
least and the most. Two kinds of states stay in the data
where there is another of the same machine: `starved`, in which nothing can be judged, and cases of
`before ...`, a tree that is no longer.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import geometric_mean, median

from chart import Mark, chart
from questions import SECTIONS, Question
from result_data import FOLDER, Entry, ResultFile, Row, read_all

from tilewright.errors import UsageError

PAGE = FOLDER.parent / "RESULTS.md"
LINES = 4 * sum(len(section.questions) for section in SECTIONS)
"""Of the page at most: four a question."""
MACHINES = 3
"""A question's newest so many are shown, fewer where the page would be longer than `LINES`; all
where it says so."""
DISTURBED = ("shared", "starved", "calm in part")
"""States in which others worked on a machine."""
HIDDEN = "starved"
OF_BEFORE = "before "
_INTRODUCTION = """\
# Results

`uv run python benchmarks/page.py` makes this page of the figures in `results/`, which
benchmarks write with `--save`. Float32; medians, ours and a peer's in turns in one run. Where there
were several runs or cases: their median, the geometric mean where several cases are compared (the
least to the most); **bold** reaches the goal. Of each state that a machine was in, the newest day
is shown. Starved machines, of which the host takes a third of the time or more, stay in the data,
and so do trees that are no longer. What was tried and not taken is told in
[docs/decisions](../docs/decisions/README.md); what the cost model gives that is trained before a
run, in [models](models/README.md).
"""


@dataclass(frozen=True)
class Shown:
    """What the page tells of a question on a machine in one state."""

    machine: str
    state: str
    entries: tuple[Entry, ...]

    def rows(self) -> Iterator[tuple[Entry, Row]]:
        return ((entry, row) for entry in self.entries for row in entry.rows)

    def place(self) -> str:
        return f"{self.machine}, {self.state}" if self.state else self.machine


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where it would")
    options = parser.parse_args()
    try:
        made = pages(read_all())
    except UsageError as error:
        parser.error(str(error))
    stale = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    stale += [path for path in FOLDER.glob("*.svg") if path not in made]
    if options.check:
        print("\n".join(f"{path.name} is not what the data say" for path in stale))
        return bool(stale)
    for path in stale:
        path.write_text(made[path], "utf-8") if path in made else path.unlink()
    return 0


def pages(files: Sequence[ResultFile]) -> dict[Path, str]:
    """Texts of the page and of its charts by path."""
    for most in range(MACHINES, 0, -1):
        made = _pages(files, most)
        if made[PAGE].count("\n") <= LINES:
            break
    return made


def _pages(files: Sequence[ResultFile], most: int) -> dict[Path, str]:
    lines = [_INTRODUCTION.rstrip(), "", *machines(files)]
    made = {}
    for section in SECTIONS:
        told = {question: shown(question, files, most) for question in section.questions}
        charts = {name: drawn(named(told, name), title) for name, title in section.charts}
        made |= {FOLDER / f"{name}.svg": text for name, text in charts.items() if text}
        breaks = "<br>" * any(charts.values())
        lines += ["", f"## {section.title}", f"{section.text}{breaks}"]
        lines += [f"![{t}](results/{n}.svg)" for n, t in section.charts if charts[n]]
        rows = [row for question, found in told.items() for row in table(question, found)]
        if rows:
            lines += ["", "| what | machine | ours | peer | times as fast | goal | reached |"]
            lines += ["|---|---|---|---|---|---|---|", *rows]
        if missing := [question.title for question, found in told.items() if not found]:
            lines += ["", f"Not measured yet: {', '.join(missing)}."]
    return {PAGE: "\n".join(lines) + "\n", **made}


def machines(files: Sequence[ResultFile]) -> Iterator[str]:
    for file in files:
        days = sorted(entry.date for entry in file.entries)
        when = f"{days[0]}" if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
        about = file.machine.about and f"; {file.machine.about}"
        cores = f", {file.machine.cores} cores" if file.machine.cores > 1 else ""
        model = f"{file.machine.model}{cores}"
        yield f"* **{file.machine.title}**: {model}{about} ({when})."


def shown(question: Question, files: Sequence[ResultFile], most: int) -> list[Shown]:
    """By machine and state; the newest day of each, on so many machines at most."""
    found: list[tuple[date, list[Shown]]] = []
    for file in files:
        mine = [entry for entry in file.entries if entry.question == question.name]
        mine = without_hidden(without_replaced(mine))
        states = sorted({entry.state for entry in mine}, key=lambda each: (each in DISTURBED, each))
        if mine:
            newest = max(entry.date for entry in mine)
            found.append((newest, [_newest(file, mine, state) for state in states]))
    most = len(found) if question.everywhere else most
    kept = sorted(found, key=lambda each: each[0], reverse=True)[:most]
    return [one for each in found if each in kept for one in each[1]]


def without_replaced(entries: Sequence[Entry]) -> list[Entry]:
    """Without cases of a tree of before that were measured since."""
    now = [entry for entry in entries if not entry.state.startswith(OF_BEFORE)]
    since = {row.case for entry in now for row in entry.rows}
    left = [
        entry.model_copy(update={"rows": rows})
        for entry in entries
        if entry.state.startswith(OF_BEFORE)
        and (rows := tuple(row for row in entry.rows if row.case not in since))
    ]
    return [*now, *left]


def without_hidden(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Without what a starved machine did, where it was also seen otherwise."""
    return [entry for entry in entries if entry.state != HIDDEN] or entries


def _newest(file: ResultFile, entries: Sequence[Entry], state: str) -> Shown:
    """Each case as of the last day on which it was measured in that state."""
    mine = [entry for entry in entries if entry.state == state]
    last = {row.case: entry.date for entry in sorted(mine, key=_date) for row in entry.rows}
    left = [
        entry.model_copy(update={"rows": rows})
        for entry in mine
        if (rows := tuple(row for row in entry.rows if last[row.case] == entry.date))
    ]
    return Shown(file.machine.title, state, tuple(left))


def _date(entry: Entry) -> date:
    return entry.date


def table(question: Question, found: Sequence[Shown]) -> Iterator[str]:
    for each in found:
        if question.by_case:
            for case in dict.fromkeys(row.case for _, row in each.rows()):
                rows = [(entry, row) for entry, row in each.rows() if row.case == case]
                yield line(f"{question.title}, {case}", each.place(), rows, question)
        else:
            # Where some cases have a goal, the others are there to compare with.
            rows = [pair for pair in each.rows() if pair[1].goal is not None] or [*each.rows()]
            yield line(question.title, each.place(), rows, question)


def line(what: str, place: str, rows: Sequence[tuple[Entry, Row]], question: Question) -> str:
    """A line of a table: one case in one or more runs, or several cases together."""
    compared = rows[0][0].peer is not None
    one_case = len({row.case for _, row in rows}) == 1
    figures = [figure for entry, row in rows if (figure := entry.figure(row)) is not None]
    judged = [reached for entry, row in rows if (reached := entry.reached(row)) is not None]
    goals = {row.goal for _, row in rows if row.goal is not None}
    fewer = not compared and rows[0][0].better == "less"
    middle = geometric_mean if compared and not one_case else median
    aimed = {question.mean_goal} if question.mean_goal and not one_case else goals
    bold = (
        len(judged) > 0
        and len(aimed) == 1
        and (aimed is goals or all(judged))
        and (middle(figures) - min(aimed)) * (-1 if fewer else 1) >= 0
    )
    told = spread(figures, middle, ratio if compared else number, bold) if figures else ""
    ours = [row.ours for _, row in rows if row.ours is not None] if one_case else []
    peers = [row.peer for _, row in rows if row.peer is not None] if one_case else []
    goal = number(*goals) if len(goals) == 1 else "by case" if goals else ""
    cells = (
        what,
        place,
        with_unit(number(median(ours)) if ours else "", question.unit)
        if compared
        else with_unit(told, question.unit),
        with_unit(number(median(peers)) if peers else "", question.unit),
        told if compared else "",
        goal if aimed is goals else f"{goal}, mean {question.mean_goal:.3g}",
        {0: "", 1: "yes" if all(judged) else "no"}.get(
            len(judged), f"{sum(judged)} of {len(judged)}"
        ),
    )
    return f"| {' | '.join(cells)} |"


def spread(
    values: Sequence[float],
    middle: Callable[[Sequence[float]], float],
    form: Callable[[float], str],
    bold: bool,
) -> str:
    """The one in the middle and, of several, the least and the most."""
    told, least, most = form(middle(values)), form(min(values)), form(max(values))
    told = f"**{told}**" if bold else told
    return f"{told} ({least} to {most})" if least != most else told


def number(value: float) -> str:
    """Three digits, and no exponent where that takes none."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def ratio(value: float) -> str:
    return f"{value:.2f}" if value < 10 else number(value)


def with_unit(text: str, unit: str) -> str:
    return f"{text} {unit}".strip() if text else ""


def named(told: Mapping[Question, Sequence[Shown]], name: str) -> tuple[Question, Sequence[Shown]]:
    return next((question, found) for question, found in told.items() if question.name == name)


def drawn(told: tuple[Question, Sequence[Shown]], title: str) -> str:
    """The chart of a question; empty where nothing was measured."""
    question, found = told
    marks, goals = [], set()
    for each in found:
        for entry, row in each.rows():
            figure = entry.figure(row)
            if figure is not None:
                marks.append(Mark(row.case, each.machine, figure, each.state in DISTURBED))
            goals.add(row.goal)
    if not marks:
        return ""
    axis = f"times as fast as {question.peer}" if question.peer else question.unit
    goal = goals.pop() if len(goals) == 1 else None
    return chart(title, axis, marks, goal)


if __name__ == "__main__":
    sys.exit(main())
