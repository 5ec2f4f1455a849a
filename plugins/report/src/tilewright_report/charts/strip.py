"""Every sample of several systems, with their medians and quartiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright_pipeline.context.time_text import significant_text
from tilewright_report.charts.plot import WIDE, Plot
from tilewright_report.charts.scale import Scale, fitting
from tilewright_report.data.quantiles import quantile
from tilewright_report.data.thinning import thinned
from tilewright_report.markup.element import Element

_ROW, _LEFT = 46.0, 132.0
_SPREAD = (0, 5, -5, 10, -10, 2.5, -7.5, 7.5, -2.5)
_MOST = 240


@dataclass(frozen=True, slots=True)
class Sampled:
    """A row: whose samples, and the class of its colour."""

    name: str
    samples: Sequence[float]
    kind: str


def strip(rows: Sequence[Sampled], name: str, unit: str) -> Element:
    """A row each, one dot a run; the box spans the quartiles, the bar in it is the median."""
    height = len(rows) * _ROW + 44
    plot = Plot(WIDE, height, name)
    every = [sample for row in rows for sample in row.samples]
    bottom = len(rows) * _ROW + 6
    scale: Scale = fitting(every, _LEFT, WIDE - 16)
    plot.x_axis(scale, bottom, 4, f"{unit} a run")
    for place, row in enumerate(rows):
        middle = place * _ROW + _ROW / 2 + 2
        plot.text((_LEFT - 12, middle + 4), _short(row.name), "label", "end")
        for number, sample in enumerate(thinned(row.samples, _MOST)):
            at = (scale.place(sample), middle + _SPREAD[number % len(_SPREAD)])
            plot.dot(at, f"{row.kind} faint", "", r=2.4)
        low, mid, high = (quantile(row.samples, share) for share in (0.25, 0.5, 0.75))
        said = (
            f"{row.name}: median {significant_text(mid)} {unit}, half of the runs between "
            f"{significant_text(low)} and {significant_text(high)} {unit}"
        )
        x = scale.place(low)
        size = (max(scale.place(high) - x, 2), 30.0)
        plot.bar((x, middle - 15), size, f"{row.kind} box", said)
        plot.line((scale.place(mid), middle - 17), (scale.place(mid), middle + 17), "median")
    return plot.svg


def _short(name: str) -> str:
    return name if len(name) <= 18 else f"{name[:17]}\u2026"
