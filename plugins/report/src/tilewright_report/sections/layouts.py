"""Layouts and precisions over the network, and what transforms cost."""

from __future__ import annotations

from base64 import b64encode

from tilewright_pipeline.context.time_text import time_text
from tilewright_report.data.fields import Fields
from tilewright_report.data.run_folder import Run
from tilewright_report.markup.blocks import Head, Number, Row, note, section, table
from tilewright_report.markup.element import Element, element
from tilewright_report.markup.words import (
    MISSING,
    fixed,
    microseconds,
    percent,
    short,
    significant,
    time_unit,
)
from tilewright_report.sections.kernels import layouts_text


def layouts(run: Run) -> Element | None:
    """The choice of the graph tuner, its drawing, and every transform that is left."""
    graph = run.report.fields("graph")
    made = [
        _choice(graph) if graph else None,
        _beside(graph.fields("beside_untuned")),
        _error(graph.fields("error")),
        _transforms(run),
        *_drawing(run),
    ]
    known = [one for one in made if one is not None]
    return section("layouts", "Layouts and precisions", *known) if known else None


def _choice(graph: Fields) -> Element:
    predicted = graph.fields("predicted_ms")
    gap, proved = graph.number("gap"), graph.raw("optimal") is True
    told = "proved best" if proved else (short(graph.text("note"), 120) or "not proved")
    kept = "kept" if graph.text("kept") == "history best" else ""
    times = [
        predicted.number("fallback"),
        predicted.number("history_best"),
        graph.number("cost_ms"),
    ]
    unit, size = time_unit(times)
    fallback, history, chosen = (Number(significant(time and time * size), time) for time in times)
    rows: list[Row] = [
        ["fallback, without records", fallback, MISSING, MISSING, ""],
        [
            "before: each kernel's own best",
            history,
            Number(fixed(graph.number("transforms_history_best")), None),
            _precisions(graph.fields("precisions_history_best")),
            kept,
        ],
        [
            f"after: chosen by {short(graph.text('tuner'), 30)}",
            chosen,
            Number(fixed(graph.number("transforms")), None),
            _precisions(graph.fields("precisions")),
            told if gap is None or proved else f"{told}, at most {percent(gap, 2)} from the best",
        ],
    ]
    heads = [
        Head("layouts"),
        Head(f"predicted {unit}", numeric=True),
        Head("transforms", numeric=True),
        Head("kernels by precision", said="of their products"),
        Head(""),
    ]
    return table(heads, rows, sortable=False)


def _precisions(counts: Fields) -> str:
    known = counts.amounts().items()
    return ", ".join(f"{count:.0f} {short(name, 20)}" for name, count in known) or MISSING


def _beside(beside: Fields) -> Element | None:
    """What was chosen and what nobody tuned, run in turns."""
    if not beside:
        return None
    times = (beside.number(f"{one}_ms") for one in ("tuned", "untuned"))
    tuned, untuned = (MISSING if one is None else f"{significant(one)} ms" for one in times)
    return note(
        f"Run in turns, the network as chosen took {tuned}, as nobody tuned it {untuned}; the "
        f"{short(beside.text('kept'), 20)} one is kept."
    )


def _error(error: Fields) -> Element | None:
    """How the choice keeps to a bound on the network's error."""
    if not error:
        return None
    figures = (error.number(name) for name in ("measured", "max_error", "float32"))
    own, most, exact = (MISSING if value is None else f"{value:.2g}" for value in figures)
    return note(
        f"The network's relative error with these precisions is {own}, of {most} allowed; in "
        f"float32 everywhere it is {exact}."
    )


def _transforms(run: Run) -> Element | None:
    known = [kernel for kernel in run.kernels if kernel.is_transform]
    if not known:
        return note("No layout transform is left.") if run.kernels else None
    share = sum(kernel.share for kernel in known)
    heads = [
        Head("transform"),
        Head("launches", numeric=True),
        Head("us each", numeric=True),
        Head("share", numeric=True, said="of all kernels' time"),
        Head("tensor"),
    ]
    rows: list[Row] = [
        [
            short(layouts_text(kernel), 60),
            Number(f"{len(kernel.nodes)}", len(kernel.nodes)),
            Number(microseconds(kernel.seconds), kernel.seconds),
            Number(percent(kernel.share, 2), kernel.share, kernel.share / share if share else 0.0),
            element("code", short(kernel.text, 90)),
        ]
        for kernel in known[:200]
    ]
    return element(
        "div",
        element("h3", "Transforms"),
        note(
            f"What they cost: {time_text(sum(kernel.total for kernel in known))}, "
            f"{percent(share, 1)} of the kernels' time."
        ),
        table(heads, rows),
    )


def _drawing(run: Run) -> list[Element]:
    """As a picture: what its names contain stays in it."""
    if run.picture is None:
        return []
    data = b64encode(run.picture.encode("utf-8", "replace")).decode("ascii")
    image = element(
        "img", src=f"data:image/svg+xml;base64,{data}", alt="layouts before and after graph-tune"
    )
    return [
        element("h3", "Before and after"),
        note(
            "Each node has the colour of the layout that it makes; red lines pass a transform. "
            "Where kernels differ in the precision of their products, each names its own."
        ),
        element("div", image, class_="paper"),
    ]
