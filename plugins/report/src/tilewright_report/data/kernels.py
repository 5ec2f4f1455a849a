"""The kernels of a compiled network, as run.json lists them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright_report.data.fields import Fields

TRANSFORM = "layout_transform"


@dataclass(frozen=True)
class Kernel:
    """One kernel with all nodes that it computes.

    seconds    of one launch, alone; `estimated` where no record tells it
    total      of all its launches
    share      of the sum over all kernels
    pack       the record pack that its config is from; empty where it is from none
    peak_share of the peak of its precision, None where that is not known
    """

    number: int
    nodes: tuple[str, ...]
    task: str
    text: str
    strategy: str
    values: Fields
    config: Any
    precision: str
    source: str
    pack: str
    seconds: float
    estimated: bool
    sequence: int | None
    samples: tuple[float, ...]
    operations: float
    bytes: float
    reads: tuple[str, ...]
    makes: str
    share: float
    peak_share: float | None

    @property
    def total(self) -> float:
        return self.seconds * len(self.nodes)

    @property
    def origin(self) -> str:
        """Where its config is from, for people."""
        return ", ".join(filter(None, [self.source, self.pack and f"pack {self.pack}"]))

    @property
    def is_transform(self) -> bool:
        return self.text.startswith(f"{TRANSFORM}(")

    @property
    def anchor(self) -> str:
        """The fragment of its details in a page."""
        return f"kernel-{self.number}"

    @property
    def name(self) -> str:
        """Its first node, and how many more there are."""
        first = self.nodes[0] if self.nodes else self.task
        more = len(self.nodes) - 1
        return f"{first} and {more} more" if more > 0 else first


def kernels_of(report: Fields) -> list[Kernel]:
    """Those that take longest first."""
    entries = report.fields("compile").objects("kernels")
    totals = [(one.number("seconds") or 0.0) * len(one.texts("nodes")) for one in entries]
    whole = sum(totals)
    order = sorted(range(len(entries)), key=lambda place: -totals[place])
    return [
        _kernel(number, entries[place], totals[place] / whole if whole else 0.0, report)
        for number, place in enumerate(order)
    ]


def _kernel(number: int, entry: Fields, share: float, report: Fields) -> Kernel:
    config, seconds = entry.fields("config"), entry.number("seconds") or 0.0
    operations = entry.number("operations") or 0.0
    peak = peak_of(report, entry.text("precision"))
    reached = operations / seconds / peak if seconds and peak and operations else None
    sequence = entry.number("sequence")
    return Kernel(
        number=number,
        nodes=tuple(entry.texts("nodes")),
        task=entry.text("task"),
        text=entry.text("text"),
        strategy=config.text("strategy"),
        values=config.fields("values"),
        config=entry.raw("config"),
        precision=entry.text("precision"),
        source=entry.text("source"),
        pack=entry.text("pack"),
        seconds=seconds,
        estimated=sequence is None,
        sequence=None if sequence is None else int(sequence),
        samples=tuple(entry.numbers("samples")),
        operations=operations,
        bytes=entry.number("bytes") or 0.0,
        reads=tuple(entry.texts("reads")),
        makes=entry.text("makes"),
        share=share,
        peak_share=reached,
    )


def peaks_of(report: Fields) -> dict[str, float]:
    """Operations a second of the run's threads, by precision: of its fastest instruction."""
    device, threads = report.fields("device"), threads_of(report)
    found: dict[str, float] = {}
    plain = device.fields("peak_flops").number(threads)
    if plain:
        found["float32"] = plain
    for name, known in device.fields("peaks").items():
        flops = Fields(known).number(threads)
        precision = name.partition("/")[0]
        if flops:
            found[precision] = max(flops, found.get(precision, 0.0))
    return found


def peak_of(report: Fields, precision: str) -> float | None:
    """Of one precision."""
    return peaks_of(report).get(precision)


def threads_of(report: Fields) -> str:
    """As run.json names them: by the target, else one."""
    words = report.text("target").partition(":")[2].split(",")
    given = dict(word.partition("=")[::2] for word in words)
    return given.get("threads", "1")
