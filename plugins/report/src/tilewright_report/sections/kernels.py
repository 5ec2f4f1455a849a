"""Where the time goes: kernels by share of the network's time, and under the roofs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright_report.charts.colours import colours_of
from tilewright_report.charts.plot import legend
from tilewright_report.charts.roofline import roofline
from tilewright_report.charts.scatter import Spot
from tilewright_report.charts.shares import Part, shares
from tilewright_report.data.kernels import Kernel, peaks_of, threads_of
from tilewright_report.data.run_folder import Run
from tilewright_report.markup.blocks import (
    Head,
    Number,
    Row,
    figure,
    folds,
    note,
    section,
    table,
)
from tilewright_report.markup.element import Element, element
from tilewright_report.markup.words import TIMES, fixed, microseconds, percent, short
from tilewright_report.sections.kernel_details import kernel_details
from tilewright_report.sections.room import Room

_IN_BAR = 40
_ROWS = 600
_DETAILED = 120


def kernels(run: Run, room: Room) -> Element | None:
    """The bar of shares, the roofline, the table, and what is behind each kernel."""
    known = run.kernels
    if not known:
        return None
    families = colours_of(_family(kernel) for kernel in known)
    described = [kernel_details(kernel, run, room) for kernel in known[:_DETAILED]]
    left_out = len(known) - _DETAILED
    return section(
        "kernels",
        "Where the time goes",
        figure(
            shares(_parts(known, families), "share of each kernel"),
            "All launches of the network, by the time of each kernel measured alone. Click a "
            "kernel to see its config, its alternatives and its code.",
            legend((kind, short(name, 40)) for name, kind in families.items()),
        ),
        _roofs(run, families),
        _table(known),
        note(f"{left_out} more kernels are not in the table.") if len(known) > _ROWS else None,
        element("h3", "Kernel by kernel"),
        note(f"The {_DETAILED} that take longest, of {len(known)}.") if left_out > 0 else None,
        folds(described),
    )


def _family(kernel: Kernel) -> str:
    return kernel.text.partition("(")[0] or "other"


def _said(kernel: Kernel) -> str:
    peak = f", {percent(kernel.peak_share)} of the peak" if kernel.peak_share else ""
    return (
        f"{short(kernel.name)}\n{short(kernel.text, 160)}\n"
        f"{len(kernel.nodes)} {TIMES} {microseconds(kernel.seconds)} us, "
        f"{percent(kernel.share, 1)} of the network\n"
        f"{short(kernel.strategy, 80)} in {kernel.precision}{peak}"
    )


def _parts(known: Sequence[Kernel], families: Mapping[str, str]) -> list[Part]:
    parts = [
        Part(
            short(kernel.name, 40),
            kernel.total,
            families[_family(kernel)],
            _said(kernel),
            f"#{kernel.anchor}" if kernel.number < _DETAILED else "",
        )
        for kernel in known[:_IN_BAR]
    ]
    rest = known[_IN_BAR:]
    if rest:
        total = sum(kernel.total for kernel in rest)
        parts.append(Part("others", total, "s7", f"{len(rest)} other kernels"))
    return parts


def _roofs(run: Run, families: Mapping[str, str]) -> Element | None:
    report, used = run.report, colours_of(kernel.precision for kernel in run.kernels)
    several = len(used) > 1
    spots = [
        Spot(
            kernel.operations / kernel.bytes,
            kernel.operations / kernel.seconds / 1e9,
            (used[kernel.precision] if several else families[_family(kernel)])
            + (" hollow" if kernel.estimated else ""),
            _said(kernel),
            3 + 12 * kernel.share**0.5,
            f"#{kernel.anchor}" if kernel.number < _DETAILED else "",
        )
        for kernel in run.kernels
        if kernel.operations and kernel.bytes and kernel.seconds
    ]
    if len(spots) < 1:
        return None
    bandwidth = report.fields("device").fields("bandwidth").number(threads_of(report))
    peaks = {name: flops for name, flops in peaks_of(report).items() if name in used}
    caption = (
        "Each kernel under the roofs of the device: the area is its share of the time, the roof "
        "the lower of the measured peak and what main memory feeds. Operations are those of the "
        "direct algorithm, so that Winograd's may stand above the peak; what stays in a cache may "
        "stand above the slope. Hollow: estimated."
    )
    keys = legend((kind, f"products in {short(name, 20)}") for name, kind in used.items())
    return figure(roofline(spots, bandwidth, peaks), caption, keys if several else None)


def _table(known: Sequence[Kernel]) -> Element:
    several = len({kernel.precision for kernel in known}) > 1
    heads = [
        Head("kernel", wide=True),
        Head("launches", numeric=True),
        Head("us each", numeric=True, said="alone, as the records have it"),
        Head("share", numeric=True, said="of all kernels' time"),
        Head("GFLOP/s", numeric=True),
        Head("of peak", numeric=True, said="of the peak of its precision"),
        *([Head("precision")] if several else []),
        Head("strategy"),
        Head("layouts"),
        Head("from", said="where its config is from"),
    ]
    largest = max((kernel.share for kernel in known), default=1.0) or 1.0
    rows: list[Row] = []
    for kernel in known[:_ROWS]:
        name = short(kernel.name, 44)
        linked = kernel.number < _DETAILED
        rate = kernel.operations / kernel.seconds / 1e9 if kernel.seconds else None
        rows.append(
            [
                element(
                    "span",
                    element("a", name, href=f"#{kernel.anchor}") if linked else name,
                    element("small", short(kernel.text, 300), title=short(kernel.text, 300)),
                ),
                Number(f"{len(kernel.nodes)}", len(kernel.nodes)),
                Number(microseconds(kernel.seconds), kernel.seconds),
                Number(percent(kernel.share, 1), kernel.share, kernel.share / largest),
                Number(fixed(rate or None, 1), rate),
                Number(percent(kernel.peak_share), kernel.peak_share, kernel.peak_share or 0.0),
                *([kernel.precision] if several else []),
                element("code", short(kernel.strategy, 34)),
                element("code", short(layouts_text(kernel), 34)),
                element("span", "estimate" if kernel.estimated else kernel.origin, class_="tight"),
            ]
        )
    return table(heads, rows)


def layouts_text(kernel: Kernel) -> str:
    """What it reads and makes."""
    reads = ", ".join(kernel.reads)
    return kernel.makes if reads == kernel.makes else f"{reads} \u2192 {kernel.makes}"
