"""The networks of a run of several, each with its figures in a row."""

from __future__ import annotations

from tilewright_pipeline.context.time_text import time_text
from tilewright_report.data.run_folder import Run
from tilewright_report.markup.blocks import Head, Number, Row, section, table
from tilewright_report.markup.element import Element, element
from tilewright_report.markup.words import MISSING, TIMES, fixed, short
from tilewright_report.sections.latency import fastest_peer, median_ms, relative_error


def networks(run: Run) -> Element | None:
    """What matters most of each; its name leads to the rest."""
    if not run.networks:
        return None
    heads = [
        Head("network"),
        Head("median", numeric=True, said="latency"),
        Head("fastest peer"),
        Head("as fast", numeric=True, said="how many times as fast as that peer"),
        Head("relative error", numeric=True, said="of its answers, as verified"),
        Head("kernels", numeric=True, said="distinct ones"),
        Head("transforms", numeric=True, said="of layouts, left in the network"),
    ]
    rows: list[Row] = []
    for place, one in enumerate(run.networks):
        median = median_ms(one.report)
        peer, theirs = fastest_peer(one.report)
        ratio = theirs / median if theirs and median else None
        transforms = sum(len(kernel.nodes) for kernel in one.kernels if kernel.is_transform)
        rows.append(
            [
                element("a", short(one.name, 60), href=f"#network-{place}"),
                Number(MISSING if median is None else time_text(median / 1e3), median),
                short(peer, 40) or MISSING,
                Number(fixed(ratio, 2, f" {TIMES}"), ratio),
                Number(relative_error(one.report), None),
                Number(f"{len(one.kernels):,}", len(one.kernels)),
                Number(f"{transforms:,}", transforms),
            ]
        )
    return section("networks", "Networks", table(heads, rows))
