"""How tuning went: totals over time and trials, tasks, strategies, failures, the seconds spent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate

from tilewright_report.charts.colours import colours_of
from tilewright_report.charts.curves import Curve, curves, sparkline
from tilewright_report.charts.plot import HALF, legend
from tilewright_report.charts.shares import Part, shares
from tilewright_report.data.fields import Fields
from tilewright_report.data.records import TunedTask, TunedTasks
from tilewright_report.data.run_folder import Run
from tilewright_report.data.thinning import steps, thinned, told_thinning
from tilewright_report.markup.blocks import (
    Head,
    Number,
    Row,
    figure,
    note,
    section,
    table,
    task_name,
)
from tilewright_report.markup.element import Element, element
from tilewright_report.markup.words import (
    MISSING,
    fixed,
    microseconds,
    percent,
    short,
    time_unit,
)

_POINTS = 400
_ROWS = 600
_SPARKS = 60
_SPARK_POINTS = 40
_OVER_TIME = (
    "The network's predicted time, as this run measured. It rises where the fastest configs turn "
    "out slower when they are measured again."
)


def tuning(run: Run) -> Element | None:
    """Curves, then tables; from run.json alone where the records are not there."""
    spent = run.report.fields("measurement")
    made = [*_curves(run), _seconds(spent), _tasks(run)]
    if run.tuned is not None:
        made += [_strategies(run.tuned), _failures(run.tuned)]
    known = [one for one in made if one is not None]
    if not known:
        return None
    if spent.raw("noisy") is True:
        known.insert(0, element("p", _noise(spent), class_="note warn"))
    return section("tuning", "Tuning", *known)


def _noise(spent: Fields) -> str:
    return (
        f"The samples of {spent.count('disturbed'):,} of {spent.count('trials'):,} trials differ "
        "by more than 5 %: the machine did so much else that the best configs may be others."
    )


def _curves(run: Run) -> Iterator[Element]:
    over_time = run.report.pairs("tuning_curve")
    charts = []
    if len(over_time) > 1:
        unit, size = time_unit(total for _, total in over_time)
        in_unit = [(seconds, total * size) for seconds, total in over_time]
        drawn = Curve("best total", steps(in_unit, _POINTS), "s0")
        chart = curves([drawn], "best total over time", "s of measuring", unit, width=HALF)
        charts.append(figure(chart, _OVER_TIME))
    totals = run.tuned.totals() if run.tuned is not None else []
    if len(totals) > 1:
        unit, size = time_unit(seconds * 1e3 for _, seconds in totals)
        in_unit = [(trials, seconds * 1e3 * size) for trials, seconds in totals]
        drawn = Curve("best total", steps(in_unit, _POINTS), "s0")
        chart = curves([drawn], "best total over trials", "trials of all tasks", unit, width=HALF)
        told = "Over all trials in the records, once every task has a time."
        charts.append(figure(chart, told))
    if charts:
        yield element("div", *charts, class_="row")


def _seconds(spent: Fields) -> Element | None:
    """Where the seconds of measuring went."""
    every = spent.fields("split").amounts()
    split = {name: seconds for name, seconds in every.items() if seconds >= 0.05}
    if not split:
        return None
    ordered = sorted(split.items(), key=lambda one: -one[1])
    colours = colours_of(name for name, _ in ordered)
    parts = [
        Part(short(name, 20), seconds, colours[name], f"{name}: {seconds:,.1f} s")
        for name, seconds in ordered
    ]
    keys = ((colours[name], f"{short(name, 20)} {seconds:,.1f} s") for name, seconds in ordered)
    rate, trials = spent.number("trials_per_second") or 0.0, spent.count("trials")
    told = (
        f"{trials:,} trials, {fixed(rate, 1)} a second. What workers did at the same time is "
        "counted for each of them."
    )
    return figure(shares(parts, "seconds by part of a trial"), told, legend(keys))


def _tasks(run: Run) -> Element | None:
    entries = run.report.objects("tasks")
    if not entries:
        return None
    totals = [
        (one.number("weight") or 0.0) * (one.number("best_seconds") or 0.0) for one in entries
    ]
    whole = sum(totals) or 1.0
    order = sorted(range(len(entries)), key=lambda place: -totals[place])
    heads = [
        Head("task", wide=True),
        Head("times", numeric=True, said="how often it occurs in the network"),
        Head("share", numeric=True, said="of the sum of all tasks"),
        Head("best us", numeric=True),
        Head("GFLOP/s", numeric=True),
        Head("of peak", numeric=True),
        Head("trials", numeric=True),
        Head("failed", numeric=True),
        Head("best so far", said="over its trials, by the logarithm"),
        Head("strategy of the best"),
    ]
    largest = max(totals, default=0.0) / whole or 1.0
    rows: list[Row] = []
    for rank, place in enumerate(order[:_ROWS]):
        entry, share = entries[place], totals[place] / whole
        tuned = run.tuned.task_of(entry.text("key")) if run.tuned is not None else None
        best, peak = entry.number("best_seconds"), entry.number("peak_share")
        rows.append(
            [
                task_name(short(entry.text("name") or entry.text("key"), 46)),
                Number(fixed(entry.number("weight")), entry.number("weight")),
                Number(percent(share, 1), share, share / largest),
                Number(microseconds(best), best),
                Number(fixed(entry.number("gflops"), 1), entry.number("gflops")),
                Number(percent(peak), peak, peak or 0.0),
                Number(f"{entry.count('trials'):,}", entry.count("trials")),
                Number(f"{entry.count('failures'):,}", entry.count("failures")),
                _spark(tuned) if tuned is not None and rank < _SPARKS else MISSING,
                element("code", short(entry.text("strategy") or MISSING, 30)),
            ]
        )
    told = told_thinning(len(rows), len(entries), "tasks").replace("drawn, evenly chosen", "listed")
    return element("div", element("h3", "Tasks"), table(heads, rows), note(told) if told else None)


def _spark(tuned: TunedTask) -> Element | str:
    times = [point.seconds for point in tuned.points if point.seconds]
    if len(times) < 2:
        return MISSING
    best = thinned(list(accumulate(times, min)), _SPARK_POINTS)
    said = f"from {microseconds(times[0])} us to {microseconds(best[-1])} us"
    return sparkline(best, said)


def _strategies(tuned: TunedTasks) -> Element | None:
    """Which alternative won where."""
    trials: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    won: Counter[str] = Counter()
    time: Counter[str] = Counter()
    for each in tuned.tasks:
        trials.update(point.strategy for point in each.points)
        failed.update(point.strategy for point in each.points if point.failure)
        if each.ranked:
            winner = each.ranked[0].record.config.strategy
            won[winner] += 1
            time[winner] += each.total  # type: ignore[assignment]  # counts seconds
    if not trials:
        return None
    whole = sum(time.values()) or 1.0
    heads = [
        Head("strategy"),
        Head("won", numeric=True, said="tasks whose best config is its"),
        Head("share", numeric=True, said="of the tasks' time that its bests take"),
        Head("trials", numeric=True),
        Head("failed", numeric=True),
    ]
    rows: list[Row] = []
    for name, count in sorted(trials.items(), key=lambda one: (-time[one[0]], -one[1])):
        share = time[name] / whole
        rows.append(
            [
                element("code", short(name, 60)),
                Number(f"{won[name]}", won[name]),
                Number(percent(share, 1), share, share),
                Number(f"{count:,}", count),
                Number(f"{failed[name]:,}", failed[name]),
            ]
        )
    return element("div", element("h3", "Strategies"), table(heads, rows[:100]))


def _failures(tuned: TunedTasks) -> Element | None:
    kinds = Counter(point.failure for each in tuned.tasks for point in each.points if point.failure)
    if not kinds:
        return note("No trial failed.") if tuned.trials else None
    by_task = {kind: _worst(kind, tuned.tasks) for kind in kinds}
    heads = [
        Head("failure"),
        Head("trials", numeric=True),
        Head("share", numeric=True),
        Head("most of"),
    ]
    rows: list[Row] = [
        [
            kind.replace("_", " "),
            Number(f"{count:,}", count),
            Number(percent(count / tuned.trials, 1), count, count / tuned.trials),
            by_task[kind],
        ]
        for kind, count in kinds.most_common()
    ]
    return element("div", element("h3", "Failures"), table(heads, rows))


def _worst(kind: str, tasks: Sequence[TunedTask]) -> str:
    counts = [(sum(point.failure == kind for point in each.points), each.name) for each in tasks]
    most, name = max(counts)
    return f"{short(name, 60)}: {most:,}"
