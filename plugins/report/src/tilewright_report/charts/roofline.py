"""Kernels under the roofs of a device."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tilewright_report.charts.plot import WIDE, Plot
from tilewright_report.charts.scale import Log
from tilewright_report.charts.scatter import Spot
from tilewright_report.markup.element import Element

_HEIGHT = 420.0
_LEFT, _BOTTOM, _TOP, _RIGHT = 64.0, 40.0, 22.0, 14.0


def roofline(spots: Sequence[Spot], bandwidth: float | None, peaks: Mapping[str, float]) -> Element:
    """Operations a second over operations a byte, both by the logarithm.

    The roof is the lower of a precision's peak and what main memory feeds: Williams, Waterman and
    Patterson, "Roofline: An Insightful Visual Performance Model", 2009. What stays in a cache may
    stand above the slope.

    spots      in operations a byte and GFLOP/s
    bandwidth  bytes a second, None where it was not measured
    """
    plot = Plot(WIDE, _HEIGHT, "kernels under the roofs of the device")
    bottom, right = _HEIGHT - _BOTTOM, WIDE - _RIGHT
    tops = {name: flops / 1e9 for name, flops in peaks.items()}
    slope = bandwidth / 1e9 if bandwidth else None
    ridges = [top / slope for top in tops.values()] if slope else []
    x = Log.around([*(spot.x for spot in spots), *(ridge * 1.5 for ridge in ridges)], _LEFT, right)
    y = Log.around([*(spot.y for spot in spots), *tops.values()], bottom, _TOP)
    plot.x_axis(x, bottom, _TOP, "operations a byte")
    plot.y_axis(y, _LEFT, right, "GFLOP/s")
    if slope:
        highest = max(tops.values(), default=y.high)
        start = max(x.low, y.low / slope)
        end = min(x.high, highest / slope)
        if start < end:
            ends = ((start, start * slope), (end, end * slope))
            (x1, y1), (x2, y2) = ((x.place(a), y.place(b)) for a, b in ends)
            plot.line((x1, y1), (x2, y2), "roof")
            label = f"main memory, {slope:.3g} GB/s"
            turn = math.degrees(math.atan2(y2 - y1, x2 - x1))
            at = (x1 + (x2 - x1) * 0.05, y1 + (y2 - y1) * 0.05 - 6)
            text = plot.text(at, label, "tick")
            text.set("transform", f"rotate({turn:.1f} {at[0]:.1f} {at[1]:.1f})")
    for name, top in tops.items():
        first = max(x.low, top / slope if slope else x.low)
        if first < x.high:
            at_y = y.place(top)
            plot.line((x.place(first), at_y), (right, at_y), "roof")
            plot.text((right - 2, at_y - 5), f"{name}, {top:,.0f}", "tick", "end")
    for spot in spots:
        at = (x.place(spot.x), y.place(spot.y))
        plot.dot(at, spot.kind, spot.said, r=spot.r, href=spot.href)
    return plot.svg
