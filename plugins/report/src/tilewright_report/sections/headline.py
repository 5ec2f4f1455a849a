"""The top of a run's page: what it is, and the figures that matter most."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright_pipeline.context.time_text import time_text
from tilewright_report.data.fields import Fields
from tilewright_report.data.run_folder import Run
from tilewright_report.markup.element import Element, element
from tilewright_report.markup.words import TIMES, counted, fixed, percent, short
from tilewright_report.sections.latency import fastest_peer, median_ms

_OWN_STAGE = "report"
"""Its page is made before it is over."""


def headline(run: Run) -> Element:
    """Name, target and device, and tiles."""
    device = run.report.fields("device")
    model = device.fields("attributes").text("model") or device.text("name")
    about = " · ".join(filter(None, [run.report.text("target"), model]))
    ended = _how_it_ended(run.report)
    return element(
        "div",
        element("h1", short(run.name, 120)),
        element("p", about),
        element("p", ended, class_="warn") if ended else None,
        element("div", *_tiles(run), class_="tiles"),
    )


def _how_it_ended(report: Fields) -> str:
    """Empty where all stages did what they should."""
    for stage in report.objects("stages"):
        if stage.text("status") != "ok":
            name, status = stage.text("name"), stage.text("status")
            return f"The run ended early: the stage '{short(name)}' was {short(status)}."
    if left := [short(name) for name in report.texts("to_come") if name != _OWN_STAGE]:
        return f"The run was not over when its report was written. To come: {', '.join(left)}."
    return ""


def _tiles(run: Run) -> Iterator[Element]:
    report = run.report
    if run.networks:
        yield _tile(f"{len(run.networks):,}", "networks, tuned together")
    for entry in report.objects("benchmark")[:1]:
        ours = median_ms(report)
        if ours is not None:
            threads = counted(entry.count("threads"), "thread")
            yield _tile(time_text(ours / 1e3), f"median latency, {threads}")
        fastest, theirs = fastest_peer(report)
        if ours and theirs:
            ratio = theirs / ours
            kind = "good" if ratio >= 1 else "bad"
            yield _tile(f"{ratio:.2f} {TIMES}", f"as fast as {short(fastest, 30)}", kind)
    verify = report.fields("verify")
    if verify:
        yield _verdict(verify)
    reached = _reached(run)
    if reached is not None:
        yield _tile(percent(reached), "of the peak, kernels weighted by time")
    spent = report.fields("measurement")
    if spent.count("trials"):
        seconds, failed = spent.number("seconds") or 0.0, spent.count("failures")
        yield _tile(
            f"{spent.count('trials'):,}", f"trials in {fixed(seconds)} s, {failed:,} failed"
        )
    if run.kernels:
        launches = sum(len(kernel.nodes) for kernel in run.kernels)
        yield _tile(f"{len(run.kernels):,}", f"distinct kernels, {launches:,} launches")


def _verdict(verify: Fields) -> Element:
    passed, error = verify.raw("passed"), verify.number("max_rel_error")
    against = short(verify.text("oracle") or "nobody", 30)
    if passed is None:
        return _tile("unchecked", "answers were compared with nobody's", "bad")
    told = "not finite" if error is None else f"{error:.1e}"
    word = "relative error" if passed is True else "relative error: FAILED"
    return _tile(told, f"{word}, against {against}", "good" if passed is True else "bad")


def _reached(run: Run) -> float | None:
    known = [(kernel.total, kernel.peak_share) for kernel in run.kernels if kernel.peak_share]
    whole = sum(total for total, _ in known)
    return sum(total * (share or 0.0) for total, share in known) / whole if whole else None


def _tile(figure: str, said: str, kind: str = "") -> Element:
    return element(
        "div", element("b", figure), element("span", said), class_=f"tile {kind}".strip()
    )
