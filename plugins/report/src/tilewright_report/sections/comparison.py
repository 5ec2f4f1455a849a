"""Several runs side by side."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright_pipeline.context.time_text import time_text
from tilewright_pipeline.measuring.significance import LEVEL, mann_whitney
from tilewright_report.charts.curves import Curve, curves
from tilewright_report.charts.plot import legend
from tilewright_report.charts.strip import Sampled, strip
from tilewright_report.data.changes import changes
from tilewright_report.data.fields import Fields
from tilewright_report.data.run_folder import Run
from tilewright_report.data.systems import OURS, systems
from tilewright_report.data.thinning import steps
from tilewright_report.markup.blocks import Head, Number, Row, figure, note, section, table
from tilewright_report.markup.element import Element
from tilewright_report.markup.words import (
    MISSING,
    counted,
    fixed,
    microseconds,
    short,
    time_unit,
)
from tilewright_report.sections.latency import median_ms, p_text, relative_error

_ROWS = 300


def side_by_side(runs: Sequence[Run], names: Sequence[str]) -> Element:
    """The figures of each run in a column of its own."""
    heads = [Head(""), *(Head(name, numeric=True) for name in names)]
    rows: list[Row] = []

    def row(name: str, told: Sequence[str]) -> None:
        if any(text not in ("", MISSING) for text in told):
            rows.append([name, *(short(text, 60) for text in told)])

    reports = [run.report for run in runs]
    row("model", [", ".join(run.models) for run in runs])
    row("target", [one.text("target") for one in reports])
    row("device", [one.fields("device").fields("attributes").text("model") for one in reports])
    row("precision", [one.fields("setup").text("precision") for one in reports])
    row("seed", [fixed(one.fields("setup").number("seed")) for one in reports])
    row("started", [one.fields("setup").text("started")[:16].replace("T", " ") for one in reports])
    row("trials", [fixed(one.fields("measurement").number("trials")) for one in reports])
    row(
        "seconds of measuring",
        [fixed(one.fields("measurement").number("seconds")) for one in reports],
    )
    medians = [median_ms(one) for one in reports]
    sums = [one.fields("prediction").number("sum_of_kernels_ms") for one in reports]
    for name, times in (("median", medians), ("sum of kernels", sums)):
        row(name, [MISSING if time is None else time_text(time / 1e3) for time in times])
    row("transforms", [fixed(one.fields("compile").number("transforms")) for one in reports])
    row("relative error", [relative_error(one) for one in reports])
    return section("runs", "Side by side", table(heads, rows, sortable=False))


def latencies(runs: Sequence[Run], names: Sequence[str], anchor: str, title: str) -> Element | None:
    """The networks' latencies; those of equal models are tested against the first run's."""
    unit, size = time_unit(median_ms(run.report) for run in runs)
    drawn, told, first = [], [], None
    for place, (run, name) in enumerate(zip(runs, names, strict=True)):
        entry = next(iter(run.report.objects("benchmark")), Fields())
        samples = dict(systems(entry)).get(OURS, Fields()).numbers("samples_ms")
        if len(samples) < 3:
            continue
        drawn.append(Sampled(name, [size * one for one in samples], f"s{min(place, 6)}"))
        if first is None:
            first = run, name, samples
        elif not first[0].is_of_other_models(run):
            p = p_text(mann_whitney(first[2], samples))
            told.append(f"{short(name, 40)} against {short(first[1], 40)}: p {p}")
    if len(drawn) < 2:
        return None
    tested = (
        f"Mann and Whitney's test that two are equally fast: {'; '.join(told)}. Each was timed in "
        "a session of its own; what the machine did differently between them is in it."
    )
    caption = "One dot a run of the network."
    chart = strip(drawn, "latency of every run", unit)
    return section(anchor, title, figure(chart, caption), note(tested) if told else None)


def kernel_changes(
    before: Run, after: Run, names: tuple[str, str], anchor: str, title: str
) -> Element | None:
    """Kernel by kernel: how much each changed, and whether that is noise."""
    found = changes(before, after)
    if not found:
        return None
    heads = [
        Head("node"),
        Head("launches", numeric=True),
        Head(f"{names[0]}, us", numeric=True),
        Head(f"{names[1]}, us", numeric=True),
        Head("ratio", numeric=True, said="below one: faster"),
        Head("gains us", numeric=True, said="over all launches"),
        Head("p", numeric=True, said="of Mann and Whitney's test on the samples of both records"),
        Head("verdict"),
        Head("config"),
    ]
    rows: list[Row] = []
    for change in found[:_ROWS]:
        launches = len(change.before.nodes)
        gain = change.gain * launches
        rows.append(
            [
                short(change.node, 50),
                Number(f"{launches}", launches),
                Number(microseconds(change.before.seconds), change.before.seconds),
                Number(microseconds(change.after.seconds), change.after.seconds),
                Number(fixed(change.ratio, 3), change.ratio),
                Number(microseconds(gain), gain),
                Number(p_text(change.p), change.p),
                change.verdict,
                "the same" if change.same_config else _configs(change.before, change.after),
            ]
        )
    certain = [one for one in found if one.verdict in ("faster", "slower")]
    gained = sum(one.gain * len(one.before.nodes) for one in certain)
    told = (
        f"{len(certain)} of {counted(len(found), 'pair')} of kernels differ by more than noise (p "
        f"below {LEVEL:g}); together they change the kernels' time by {microseconds(-gained)} us. "
        "Of twenty equal pairs one is taken to differ by chance."
    )
    if before.is_of_other_models(after):
        told = f"The runs are of different networks: these are the tasks that both have. {told}"
    return section(anchor, title, note(told), table(heads, rows))


def _configs(before: object, after: object) -> str:
    old, new = (getattr(one, "strategy", "") for one in (before, after))
    return "other knobs" if old == new else f"{short(old, 30)} to {short(new, 30)}"


def totals(runs: Sequence[Run], names: Sequence[str]) -> Element | None:
    """The tuning curves of all runs."""
    totals = [run.report.pairs("tuning_curve") for run in runs]
    unit, size = time_unit(total for points in totals for _, total in points)
    lines = [
        Curve(name, steps([(at, total * size) for at, total in points], 300), f"s{min(place, 6)}")
        for place, (points, name) in enumerate(zip(totals, names, strict=True))
        if len(points) > 1
    ]
    if not lines:
        return None
    chart = curves(lines, "best total over time", "s of measuring", unit)
    keys = legend((line.kind, short(line.name, 50)) for line in lines)
    return section("totals", "Tuning", figure(chart, "The networks' predicted times.", keys))
