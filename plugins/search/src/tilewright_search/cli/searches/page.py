"""A comparison as one page of HTML, with a plot for each space."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from math import isfinite, log10
from statistics import median
from typing import TYPE_CHECKING

from tilewright_search.cli.searches.curve import AREA_TRIALS
from tilewright_search.cli.searches.outcome import JUDGED, PERCENTS, Outcome

if TYPE_CHECKING:
    from tilewright_search.cli.searches.comparison import Comparison

_COLOURS = ("#7f7f7f", "#d62728", "#1f77b4", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b")
_WIDTH, _HEIGHT = 640, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 10, 34
_LEAST, _MOST = 0.5, 200.0
"""Percent above the best between which is drawn."""

_STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 1400px; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .7rem; text-align: right; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; }
section { display: inline-block; vertical-align: top; margin: 0 1.5rem 1.5rem 0; }
svg text { fill: currentColor; font-size: 12px; }
svg .grid { stroke: #8884; }
h2 { font-size: 1.05rem; margin: 1rem 0 .2rem; }
.key { display: inline-block; width: .8em; height: .8em; margin-right: .4em; }
"""


def page(comparison: Comparison) -> str:
    """The page: what was compared, the median shares, then a plot and a table for each space.

    It needs nothing beside it and runs no script.
    """
    settings = (
        f"{comparison.seeds} seeds, at most {comparison.limit} trials. Trials are medians over the "
        f"seeds; the share is that of {escape(comparison.baseline)}'s trials until within "
        f"{JUDGED} % of the best, the median over {len(comparison.spaces)} spaces. Quartiles and "
        f"seconds (s) are those until within {JUDGED} %; area is the mean share of the best "
        f"performance over {AREA_TRIALS} trials, think ms what the tuner took of a trial's time."
    )
    parts = [
        '<!doctype html><html lang="en"><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>Tuners on recorded spaces</title><style>{_STYLE}</style>",
        "<h1>Tuners on recorded spaces</h1>",
        f"<p>{settings}</p>",
        _table(("tuner", "share"), _shares(comparison)),
        *(_section(comparison, place) for place in range(len(comparison.spaces))),
    ]
    return "\n".join(parts) + "\n"


def _shares(comparison: Comparison) -> Iterator[tuple[str, ...]]:
    for colour, (name, share) in enumerate(comparison.shares().items()):
        yield _named(colour, name), f"{share:.2f}" if isfinite(share) else "beyond the limit"


def _section(comparison: Comparison, place: int) -> str:
    space = comparison.spaces[place]
    outcomes = [comparison.outcomes[name, space.name] for name in comparison.searches]
    near = space.count_within(JUDGED)
    about = f"{len(space.results)} configs, {near} of them within {JUDGED} % of the best"
    rows = (_cells(colour, each, outcomes[0]) for colour, each in enumerate(outcomes))
    reached = tuple(f"to {percent} %" for percent in PERCENTS)
    head = ("tuner", *reached, "quartiles", "share", "p", "area", "s", "think ms")
    return (
        f"<section><h2>{escape(space.name)}</h2><div>{about}{escape(_on(space.device))}</div>\n"
        f"{_plot(outcomes)}\n{_table(head, rows)}</section>"
    )


def _cells(colour: int, outcome: Outcome, baseline: Outcome) -> tuple[str, ...]:
    row, judged = outcome.row(baseline), f"to_{JUDGED}_percent"
    quartiles = row[f"trials_{judged}_quartiles"]
    return (
        _named(colour, outcome.tuner),
        *(_number(row[f"trials_to_{percent}_percent"], ".0f") for percent in PERCENTS),
        " to ".join(_number(value, ".0f") for value in quartiles),
        _number(row["of_baseline"], ".2f"),
        _number(row["p_value"], ".3f"),
        _number(row["area"], ".2f"),
        _number(row[f"seconds_{judged}"], ".3g"),
        _number(row["thinking_seconds_per_trial"] * 1e3, ".2f"),
    )


def _on(device: str) -> str:
    return f"; {device}" if device else ""


def _table(head: Sequence[str], rows: Iterator[tuple[str, ...]]) -> str:
    """The cells of the head are texts, those of the rows are HTML."""
    lines = ["".join(f"<th>{escape(cell)}</th>" for cell in head)]
    lines += ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def _named(colour: int, name: str) -> str:
    return f'<span class="key" style="background:{_colour(colour)}"></span>{escape(name)}'


def _number(value: float | None, form: str) -> str:
    return "&ndash;" if value is None else format(value, form)


def _colour(place: int) -> str:
    return _COLOURS[place % len(_COLOURS)]


def _plot(outcomes: Sequence[Outcome]) -> str:
    """Percent above the best by trials, both logarithmic: a line a tuner, the median of the seeds,
    in a band from the lower to the upper quartile.
    """
    last = max(outcome.most_trials for outcome in outcomes)
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    parts = [f'<svg {size} role="img" aria-label="percent above the best by trials">']
    for percent in (1, 2, 5, 10, 20, 50, 100):
        y = _y(percent)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{percent} %</text>')
    for trials in (1, 10, 100, 1000, 10000):
        if trials <= last:
            x = _x(trials, last)
            parts.append(f'<text x="{x}" y="{_HEIGHT - 16}" text-anchor="middle">{trials}</text>')
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{_HEIGHT - 2}" text-anchor="middle">trials</text>')
    steps = sorted({round(last ** (step / 120)) for step in range(121)})
    for place, outcome in enumerate(outcomes):
        parts += _drawn(outcome, steps, last, _colour(place))
    return "".join([*parts, "</svg>"])


def _drawn(outcome: Outcome, steps: Sequence[int], last: int, colour: str) -> Iterator[str]:
    lows, middles, highs = [], [], []
    for trials in steps:
        found = sorted(100 * (curve.after(trials) - 1) for curve in outcome.curves)
        x = _x(trials, last)
        lows.append((x, _y(found[(len(found) - 1) // 4])))
        highs.append((x, _y(found[-1 - (len(found) - 1) // 4])))
        middles.append((x, _y(median(found))))
    band = _points([*lows, *reversed(highs)])
    yield f'<polygon points="{band}" fill="{colour}" fill-opacity="0.12"/>'
    line = _points(middles)
    yield f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.8"/>'


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in points)


def _x(trials: float, last: int) -> float:
    return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * log10(trials) / max(log10(last), 0.3), 1)


def _y(percent: float) -> float:
    inside = min(max(percent, _LEAST), _MOST)
    share = log10(inside / _LEAST) / log10(_MOST / _LEAST)
    return round(_HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * share, 1)
