"""The page of several runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tilewright_report.data.run_folder import Run
from tilewright_report.markup.document import document
from tilewright_report.markup.element import Element, element
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
    sections = [side_by_side(runs, names), *_compared(runs, names)]
    for place, network in enumerate(runs[0].networks):
        found = [
            (_network_of(run, network.name), name) for run, name in zip(runs, names, strict=True)
        ]
        own = [(run, name) for run, name in found if run is not None]
        sections += _compared(
            [run for run, _ in own],
            [name for _, name in own],
            f"network-{place}-",
            short(network.name),
        )
    sections.append(totals(runs, names))
    known = [part for part in sections if part is not None]
    return document(" and ".join(names[:3]), head, known)


def _compared(
    runs: Sequence[Run], names: Sequence[str], prefix: str = "", network: str = ""
) -> Iterator[Element | None]:
    """Latencies, and the kernels of each run beside those of the first."""
    of = f", {network}" if network else ""
    yield latencies(runs, names, f"{prefix}latency", f"Latency{of}")
    for number, (run, name) in enumerate(zip(runs[1:], names[1:], strict=True), 1):
        title = f"Kernel by kernel{of}" if len(runs) == 2 else f"Kernel by kernel{of}: {name}"
        yield kernel_changes(runs[0], run, (names[0], name), f"{prefix}changes-{number}", title)


def _network_of(run: Run, name: str) -> Run | None:
    return next((network for network in run.networks if network.name == name), None)


def _names(runs: Sequence[Run]) -> list[str]:
    """Of the folders where the runs' own names are equal."""
    own = [run.folder.name if run.folder is not None else run.name for run in runs]
    counts = Counter(own)
    return [
        short(f"{name} ({place})" if counts[name] > 1 else name, 40)
        for place, name in enumerate(own, 1)
    ]
