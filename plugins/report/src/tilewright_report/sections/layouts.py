"""Layouts and precisions over the network, and what transforms cost."""

from __future__ import annotations

from base64 import b64encode

from tilewright_report.data.fields import Fields
from tilewright_report.data.run_folder import Run
from tilewright_report.markup.blocks import Head, Number, Row, note, section, table
from tilewright_report.markup.element import Element, element
from tilewright_report.markup.words import (
    MISSING,
    microseconds,
    milliseconds,
    percent,
    short,
)
from tilewright_report.sections.kernels import layouts_text


def layouts(run: Run) -> Element | None:
    """The choice of the graph tuner, its drawing, and every transform that is left."""
    graph = run.report.fields("graph")
    made = [
        _choice(graph) if graph else None,
        _precisions(graph, run),
        _transforms(run),
        *_drawing(run),
    ]
    known = [one for one in made if one is not None]
    return section("layouts", "Layouts and precisions", *known) if known else None


def _choice(graph: Fields) -> Element:
    predicted = graph.fields("predicted_ms")
    gap, proved = graph.number("gap"), graph.raw("optimal") is True
    told = "proved best" if proved else (short(graph.text("note"), 120) or "not proved")
    kept = "kept" if graph.text("kept") != "solver" else ""
    rows: list[Row] = [
        ["fallback, without records", *_times(predicted.number("fallback")), MISSING, ""],
        [
            "each kernel's own best",
            *_times(predicted.number("history_best")),
            Number(
                f"{graph.count('transforms_history_best')}", graph.number("transforms_history_best")
            ),
            kept,
        ],
        [
            f"chosen by {short(graph.text('tuner'), 30)}",
            *_times(graph.number("cost_ms")),
            Number(f"{graph.count('transforms')}", graph.number("transforms")),
            told if gap is None or proved else f"{told}, at most {percent(gap, 2)} from the best",
        ],
    ]
    heads = [
        Head("layouts"),
        Head("predicted ms", numeric=True),
        Head("transforms", numeric=True),
        Head(""),
    ]
    return table(heads, rows, sortable=False)


def _times(value: float | None) -> list[Number]:
    return [Number(milliseconds(value), value)]


def _precisions(graph: Fields, run: Run) -> Element | None:
    counts = {name: int(count) for name, count in graph.fields("precisions").amounts().items()}
    if not counts:
        return None
    told = ", ".join(f"{count} in {short(name, 20)}" for name, count in counts.items())
    error = graph.fields("error")
    bound = ""
    if error:
        figures = {name: error.number(name) for name in ("max_error", "measured", "float32")}
        most, own, exact = ("-" if v is None else f"{v:.2g}" for v in figures.values())
        bound = f" Their error is {own} of {most} allowed; in float32 it is {exact}."
    return note(f"Kernels by the precision of their products: {told}.{bound}")


def _transforms(run: Run) -> Element | None:
    known = [kernel for kernel in run.kernels if kernel.is_transform]
    if not known:
        return note("No layout transform is left.") if run.kernels else None
    share = sum(kernel.share for kernel in known)
    heads = [
        Head("transform"),
        Head("launches", numeric=True),
        Head("us each", numeric=True),
        Head("share", numeric=True),
        Head("tensor"),
    ]
    rows: list[Row] = [
        [
            short(layouts_text(kernel), 60),
            Number(f"{len(kernel.nodes)}", len(kernel.nodes)),
            Number(microseconds(kernel.seconds), kernel.seconds),
            Number(percent(kernel.share, 2), kernel.share),
            element("code", short(kernel.text, 90)),
        ]
        for kernel in known[:200]
    ]
    return element(
        "div",
        element("h3", "Transforms"),
        note(f"What they cost: {percent(share, 1)} of the kernels' time."),
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
        note("Each node has the colour of the layout that it makes; red lines pass a transform."),
        element("div", image, class_="paper"),
    ]
