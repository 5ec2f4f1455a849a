"""Several runs side by side."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright_report.charts.curves import Curve, curves
from tilewright_report.charts.plot import legend
from tilewright_report.charts.strip import Sampled, strip
from tilewright_report.data.changes import LEVEL, changes
from tilewright_report.data.fields import Fields
from tilewright_report.data.run_folder import Run
from tilewright_report.data.significance import mann_whitney
from tilewright_report.data.thinning import steps
from tilewright_report.markup.blocks import Head, Number, Row, figure, note, section, table
from tilewright_report.markup.element import Element
from tilewright_report.markup.words import MISSING, fixed, microseconds, milliseconds, short
from tilewright_report.sections.latency import OURS, p_text, systems

_ROWS = 300


def side_by_side(runs: Sequence[Run], names: Sequence[str]) -> Element:
    """The figures of each run in a column of its own."""
    heads = [Head(""), *(Head(name, numeric=True) for name in names)]
    rows: list[Row] = []

    def row(name: str, told: Sequence[str]) -> None:
        if any(text not in ("", MISSING) for text in told):
            rows.append([name, *(short(text, 60) for text in told)])

    reports = [run.report for run in runs]
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
    row("median ms", [milliseconds(_median(one)) for one in reports])
    row(
        "sum of kernels, ms",
        [milliseconds(one.fields("prediction").number("sum_of_kernels_ms")) for one in reports],
    )
    row("transforms", [fixed(one.fields("compile").number("transforms")) for one in reports])
    row("relative error", [_error(one) for one in reports])
    return section("runs", "Side by side", table(heads, rows, sortable=False))


def _median(report: Fields) -> float | None:
    entries = report.objects("benchmark")
    return entries[0].fields(OURS).number("median_ms") if entries else None


def _error(report: Fields) -> str:
    error = report.fields("verify").number("max_rel_error")
    return MISSING if error is None else f"{error:.1e}"


def latencies(runs: Sequence[Run], names: Sequence[str]) -> Element | None:
    """The networks' latencies, tested against the first run's."""
    sampled, tested = [], []
    for place, (run, name) in enumerate(zip(runs, names, strict=True)):
        for entry in run.report.objects("benchmark")[:1]:
            ours = dict(systems(entry)).get(OURS, Fields())
            samples = ours.numbers("samples_ms")
            if len(samples) >= 3:
                sampled.append(Sampled(name, samples, f"s{min(place, 6)}"))
                tested.append((name, samples))
    if len(sampled) < 2:
        return None
    (base, first), *others = tested
    told = "; ".join(
        f"{short(name, 40)} against {short(base, 40)}: p {p_text(mann_whitney(first, samples))}"
        for name, samples in others
    )
    return section(
        "latency",
        "Latency",
        figure(strip(sampled, "latency of every run"), "One dot a run of the network."),
        note(
            f"Mann and Whitney's test that two are equally fast: {told}. Each was timed in a "
            "session of its own; what the machine did differently between them is in it."
        ),
    )


def kernel_changes(before: Run, after: Run, names: tuple[str, str], number: int) -> Element | None:
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
        f"{len(certain)} of {len(found)} pairs of kernels differ by more than noise (p below "
        f"{LEVEL:g}); together they change the kernels' time by {microseconds(-gained)} us. Of "
        f"twenty equal pairs one is taken to differ by chance."
    )
    title = "Kernel by kernel" if number == 1 else f"Kernel by kernel: {names[1]}"
    return section(f"changes-{number}", title, note(told), table(heads, rows))


def _configs(before: object, after: object) -> str:
    old, new = (getattr(one, "strategy", "") for one in (before, after))
    return "other knobs" if old == new else f"{short(old, 30)} to {short(new, 30)}"


def totals(runs: Sequence[Run], names: Sequence[str]) -> Element | None:
    """The tuning curves of all runs."""
    lines = [
        Curve(name, steps(points, 300), f"s{min(place, 6)}")
        for place, (run, name) in enumerate(zip(runs, names, strict=True))
        if len(points := run.report.pairs("tuning_curve")) > 1
    ]
    if not lines:
        return None
    chart = curves(lines, "best total over time", "s of measuring", "ms")
    keys = legend((line.kind, short(line.name, 50)) for line in lines)
    return section("totals", "Tuning", figure(chart, "The networks' predicted times.", keys))
