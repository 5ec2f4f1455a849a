"""The page of several runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tilewright_report.data.run_folder import Run
from tilewright_report.markup.document import document
from tilewright_report.markup.element import element
from tilewright_report.markup.words import short
from tilewright_report.sections.comparison import (
    kernel_changes,
    latencies,
    side_by_side,
    totals,
)


def comparison_page(runs: Sequence[Run]) -> str:
    """The first run is what all others are compared with."""
    names = _names(runs)
    head = element(
        "div",
        element("h1", "Runs side by side"),
        element("p", ", ".join(names)),
    )
    sections = [side_by_side(runs, names), latencies(runs, names)]
    sections += [
        kernel_changes(runs[0], run, (names[0], name), number)
        for number, (run, name) in enumerate(zip(runs[1:], names[1:], strict=True), 1)
    ]
    sections.append(totals(runs, names))
    known = [part for part in sections if part is not None]
    return document(" and ".join(names[:3]), head, known)


def _names(runs: Sequence[Run]) -> list[str]:
    """Of the folders where the runs' own names are equal."""
    own = [run.folder.name if run.folder is not None else run.name for run in runs]
    counts = Counter(own)
    return [
        short(f"{name} ({place})" if counts[name] > 1 else name, 40)
        for place, name in enumerate(own, 1)
    ]
