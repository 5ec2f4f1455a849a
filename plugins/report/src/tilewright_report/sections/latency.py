"""The network's latency beside that of peers, with its distribution."""

from __future__ import annotations

from tilewright_pipeline.context.time_text import time_text
from tilewright_pipeline.measuring.significance import mann_whitney
from tilewright_report.charts.strip import Sampled, strip
from tilewright_report.data.fields import Fields
from tilewright_report.data.run_folder import Run
from tilewright_report.data.systems import OURS, systems
from tilewright_report.markup.blocks import Head, Number, Row, figure, note, section, table
from tilewright_report.markup.element import Element
from tilewright_report.markup.words import MISSING, TIMES, fixed, short, significant, time_unit

_PARTS = (("median_ms", "median"), ("mean_ms", "mean"), ("min_ms", "min"), ("max_ms", "max"))


def latency(run: Run) -> Element | None:
    """A strip of all runs of each system, and their figures."""
    made: list[Element] = []
    for entry in run.report.objects("benchmark"):
        known = systems(entry)
        unit = time_unit(told.number("median_ms") for _, told in known)
        sampled = [
            Sampled(name, samples, "s0" if name == OURS else f"s{min(place, 6)}")
            for place, (name, told) in enumerate(known)
            if len(samples := [unit[1] * one for one in told.numbers("samples_ms")]) >= 3
        ]
        if sampled:
            caption = (
                "One dot a run, in turns of ten, so that drift of the machine meets everyone. "
                "Boxes span the middle half of the runs."
            )
            made.append(figure(strip(sampled, "latency of every run", unit[0]), caption))
        made.append(_figures(entry, known, unit))
    predicted = _prediction(run.report.fields("prediction"))
    if predicted is not None:
        made.append(predicted)
    return section("latency", "Latency", *made) if made else None


def median_ms(report: Fields) -> float | None:
    """Ours, in the first benchmark."""
    return next((e.fields(OURS).number("median_ms") for e in report.objects("benchmark")), None)


def fastest_peer(report: Fields) -> tuple[str, float | None]:
    """Its name and its median in ms, in the first benchmark; an empty name without any."""
    entry = next(iter(report.objects("benchmark")), Fields())
    medians = {name: told.number("median_ms") for name, told in systems(entry) if name != OURS}
    known = {name: median for name, median in medians.items() if median}
    return min(known.items(), key=lambda one: one[1], default=("", None))


def relative_error(report: Fields) -> str:
    """As verified."""
    error = report.fields("verify").number("max_rel_error")
    return MISSING if error is None else f"{error:.1e}" if error else "0"


def _figures(entry: Fields, known: list[tuple[str, Fields]], unit: tuple[str, float]) -> Element:
    heads = [Head(""), Head("precision"), Head("runs", numeric=True)]
    heads += [Head(f"{name} {unit[0]}", numeric=True) for _, name in _PARTS]
    heads += [
        Head("of ours", numeric=True, said="its median, as a multiple of ours"),
        Head("p", numeric=True, said="of Mann and Whitney's test that it is as fast as ours"),
    ]
    ours = dict(known).get(OURS, Fields())
    rows: list[Row] = []
    for name, told in known:
        ratio = None
        if (base := ours.number("median_ms")) and (own := told.number("median_ms")) is not None:
            ratio = own / base
        p = mann_whitney(ours.numbers("samples_ms"), told.numbers("samples_ms"))
        times = [(told.number(part), part) for part, _ in _PARTS]
        rows.append(
            [
                short(name, 40),
                told.text("precision"),
                Number(f"{told.count('runs'):,}", told.count("runs")),
                *(Number(significant(time and time * unit[1]), time) for time, _ in times),
                Number(fixed(ratio, 2, f" {TIMES}"), ratio),
                MISSING if name == OURS else p_text(p),
            ]
        )
    return table(heads, rows)


def p_text(p: float | None) -> str:
    """A p-value; what is below a thousandth is so surely no noise."""
    if p is None:
        return MISSING
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _prediction(told: Fields) -> Element | None:
    kernels, network = told.number("sum_of_kernels_ms"), told.number("network_ms")
    if not kernels or not network:
        return None
    share = told.number("share_without_record") or 0.0
    guessed = f", {share:.0%} of that estimated" if share >= 0.005 else ""
    return note(
        f"The kernels, each timed alone, sum to {time_text(kernels / 1e3)}{guessed}; the network "
        f"takes {time_text(network / 1e3)}, {network / kernels:.2f} times that."
    )
