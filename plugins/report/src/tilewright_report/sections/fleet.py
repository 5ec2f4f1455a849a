"""The devices of a run that several measured."""

from __future__ import annotations

from collections import Counter

from tilewright_report.charts.colours import colours_of
from tilewright_report.charts.curves import Curve, curves
from tilewright_report.charts.plot import legend
from tilewright_report.data.fields import Fields
from tilewright_report.data.run_folder import Run
from tilewright_report.data.thinning import thinned
from tilewright_report.markup.blocks import Head, Number, Row, figure, section, table
from tilewright_report.markup.element import Element
from tilewright_report.markup.words import short

_CURVES = 7
_POINTS = 120


def fleet(run: Run) -> Element | None:
    """Trials and faults by device, and how far each had come over the trials of all."""
    devices = {
        name: Fields(told)
        for name, told in run.report.fields("measurement").fields("devices").items()
    }
    if not devices:
        return None
    whole = sum(told.count("trials") for told in devices.values()) or 1
    heads = [
        Head("device"),
        Head("trials", numeric=True),
        Head("share", numeric=True),
        Head("batches measured again", said="by why: lost, failed, or set aside for drift"),
    ]
    rows: list[Row] = []
    for name, told in sorted(devices.items(), key=lambda one: -one[1].count("trials")):
        faults = told.fields("faults").amounts()
        again = ", ".join(
            f"{int(count)} {kind.replace('_', ' ')}" for kind, count in faults.items()
        )
        share = told.count("trials") / whole
        trials = told.count("trials")
        rows.append(
            [short(name, 60), Number(f"{trials:,}", trials), _share(share), again or "none"]
        )
    builders = [
        [short(name, 60), ", ".join(Fields(told).fields("faults").amounts()) or "none"]
        for name, told in run.report.fields("measurement").fields("builders").items()
    ]
    lost = table([Head("builder"), Head("faults")], builders) if builders else None
    return section("fleet", "Devices", table(heads, rows[:600]), _progress(run), lost)


def _share(share: float) -> Number:
    return Number(f"{share:.1%}".replace("%", " %"), share, share)


def _progress(run: Run) -> Element | None:
    if run.tuned is None:
        return None
    points = sorted(
        (point for each in run.tuned.tasks for point in each.points),
        key=lambda point: point.sequence,
    )
    names = [name for name, _ in Counter(point.device for point in points).most_common(_CURVES)]
    if len(names) < 2:
        return None
    colours = colours_of(names)
    lines = []
    for name in names:
        own = [place for place, point in enumerate(points, 1) if point.device == name]
        line = [(float(place), float(count)) for count, place in enumerate(own, 1)]
        lines.append(Curve(name, thinned(line, _POINTS), colours[name]))
    chart = curves(lines, "trials by device", "trials of all devices", "trials of its own")
    told = "How the trials were shared out: a line that lies flat is a device that waited."
    return figure(chart, told, legend((colours[name], short(name, 40)) for name in names))
