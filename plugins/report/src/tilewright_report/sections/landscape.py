"""The search landscape of the tasks that matter most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tilewright.vocabulary.record import Record
from tilewright_report.charts.colours import colours_of
from tilewright_report.charts.curves import Curve, curves
from tilewright_report.charts.parallel import parallel
from tilewright_report.charts.plot import legend
from tilewright_report.charts.scatter import Spot, scatter
from tilewright_report.data.learning import foresight
from tilewright_report.data.projection import projection
from tilewright_report.data.records import TunedTask, TunedTasks
from tilewright_report.data.run_folder import Run
from tilewright_report.data.thinning import told_thinning
from tilewright_report.markup.blocks import figure, folded, folds, note, section
from tilewright_report.markup.element import Child, Element, element
from tilewright_report.markup.words import microseconds, percent, short, value_text

_TASKS = 6
_LEARNED = 4
_MOST = 240
_FEWEST = 8
_KNOBS = 9


def landscape(run: Run) -> Element | None:
    """For each: trials over time by strategy, knobs in parallel, a projection, a prediction."""
    tuned = run.tuned
    if tuned is None:
        return None
    shown = [each for each in tuned.tasks if len(each.points) >= _FEWEST][:_TASKS]
    if not shown:
        return None
    made = [_of_task(each, place, tuned) for place, each in enumerate(shown)]
    told = f"The {len(shown)} tasks that take most of the network's time."
    return section("landscape", "Search landscape", note(told), folds(made))


def _of_task(each: TunedTask, place: int, tuned: TunedTasks) -> Element:
    records = each.sample(_MOST)
    timed = sum(point.seconds is not None for point in each.points)
    colours = colours_of(sorted({record.config.strategy for record in records}))
    children: list[Child] = [
        element("p", element("code", short(each.text, 200))),
        _trials(each, records, colours),
    ]
    fastest = each.ranked[0].record.config.strategy if each.ranked else ""
    winners = [record for record in records if record.config.strategy == fastest]
    children.append(_parallel(winners, fastest))
    charts = [_projection(winners), _foresight(each) if place < _LEARNED else None]
    children.append(element("div", *charts, class_="row"))
    thinned_out = told_thinning(len(records), timed, "trials")
    children.append(note(thinned_out) if thinned_out else None)
    share = each.total / (sum(one.total for one in tuned.tasks) or 1.0)
    line = short(each.name, 70)
    soft = element(
        "span",
        element("span", percent(share, 1)),
        element("span", f"{len(each.points):,} trials"),
        class_="soft",
    )
    made = folded(element("span", line, soft), *children)
    if place == 0:
        made.set("open", "")
    return made


def _said(record: Record) -> str:
    values = ", ".join(
        f"{name}={value_text(value)}" for name, value in record.config.values.items()
    )
    return f"{microseconds(record.seconds)} us\n{record.config.strategy}\n{short(values, 160)}"


def _trials(each: TunedTask, records: Sequence[Record], colours: Mapping[str, str]) -> Element:
    order = {point.sequence: place for place, point in enumerate(each.points, 1)}
    spots = [
        Spot(
            float(order.get(record.sequence, 0)),
            (record.seconds or 0.0) * 1e6,
            f"{colours[record.config.strategy]} faint",
            _said(record),
            2.6,
        )
        for record in records
    ]
    best, line = None, []
    for place, point in enumerate(each.points, 1):
        if point.seconds is not None and (best is None or point.seconds < best):
            best = point.seconds
            line.append((float(place), best * 1e6))
    line.append((float(len(each.points)), (best or 0.0) * 1e6))
    chart = curves(
        [Curve("best so far", line, "s7")],
        "trials of the task in order",
        "trials",
        "us",
        spots=spots,
    )
    keys = ((kind, short(name, 50)) for name, kind in colours.items())
    return figure(chart, "Every trial with a time, and the best so far.", legend(keys))


def _parallel(records: Sequence[Record], strategy: str) -> Element | None:
    """The knobs that vary, of the strategy that won; the fastest tenth is coloured."""
    values = [
        {name: value_text(value) for name, value in record.config.values.items()}
        for record in records
    ]
    names = list(dict.fromkeys(name for one in values for name in one))
    varied = [name for name in names if len({one.get(name, "") for one in values}) > 1]
    if len(records) < _FEWEST or len(varied) < 2:
        return None
    shown = varied[:_KNOBS]
    slowest_first = sorted(range(len(records)), key=lambda at: -(records[at].seconds or 0.0))
    hot = len(records) - max(1, len(records) // 10)
    rows = []
    for rank, at in enumerate(slowest_first):
        kind = "s1 hot" if rank >= hot else "s7 thin"
        rows.append((values[at], kind, _said(records[at])))
    more = f" {len(varied) - len(shown)} more knobs vary." if len(varied) > len(shown) else ""
    told = f"Knobs of {short(strategy, 60)}; the fastest tenth is coloured.{more}"
    return figure(parallel(shown, rows, "knobs in parallel coordinates"), told)


def _projection(records: Sequence[Record]) -> Element | None:
    placed = projection([record.config for record in records])
    if placed is None:
        return None
    points, explained = placed
    seconds = np.array([record.seconds for record in records], float)
    speed = seconds.min() / seconds
    order = np.argsort(speed, kind="stable")
    hot = len(records) - max(1, len(records) // 10)
    spots = [
        Spot(
            points[at][0],
            points[at][1],
            "s1" if rank >= hot else "s0",
            _said(records[at]),
            1.5 + 5.0 * float(speed[at]) ** 2,
        )
        for rank, at in enumerate(order)
    ]
    told = (
        f"The same configs, side by side where their knobs are alike: the two main components, "
        f"{percent(explained)} of the variance. Larger is faster; the fastest tenth is coloured."
    )
    names = ("first component", "second component")
    return figure(scatter(spots, "configs by their knobs", names, kind="bare"), told)


def _foresight(each: TunedTask) -> Element | None:
    told = foresight(each)
    if told is None:
        return None
    spots = [Spot(supposed, truly, "s0 faint", "") for supposed, truly in told.pairs]
    caption = (
        f"What {told.model}, fitted to the first half of the trials, says of the second: ranks in "
        f"per cent, 100 is the fastest. {percent(told.pairwise)} of all pairs in order."
    )
    axes = ("predicted rank", "measured rank")
    return figure(scatter(spots, "prediction against measurement", axes, diagonal=True), caption)
