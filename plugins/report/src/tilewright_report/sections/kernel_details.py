"""What is behind one kernel: config, records, alternatives, program and code."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright_report.data.kernels import Kernel
from tilewright_report.data.programs import programs_of
from tilewright_report.data.records import TunedTask, config_of
from tilewright_report.data.run_folder import Run
from tilewright_report.markup.blocks import Head, Number, Row, code, facts, folded, note, table
from tilewright_report.markup.element import Child, Element, element
from tilewright_report.markup.words import counted, microseconds, percent, short, value_text
from tilewright_report.sections.room import Room

_NODES = 24
_FASTEST = 6


def kernel_details(kernel: Kernel, run: Run, room: Room) -> Element:
    """A line that opens: what a click on the kernel leads to."""
    tuned = run.tuned.task_of(kernel.task) if run.tuned is not None else None
    head = element(
        "span",
        short(kernel.name, 60),
        element(
            "span",
            element("span", f"{microseconds(kernel.seconds)} us"),
            element("span", percent(kernel.share, 1)),
            class_="soft",
        ),
    )
    shown = ", ".join(short(node, 60) for node in kernel.nodes[:_NODES])
    more = len(kernel.nodes) - _NODES
    samples = ", ".join(microseconds(sample) for sample in sorted(kernel.samples)[:15])
    place = "" if kernel.sequence is None else f"record {kernel.sequence}"
    if place and not kernel.pack:
        place += " of the file"
    told = facts(
        [
            ("computes", element("code", short(kernel.text, 300))),
            ("nodes", f"{shown} and {more} more" if more > 0 else shown),
            ("task", element("code", kernel.task)),
            ("strategy", element("code", short(kernel.strategy, 120))),
            ("config from", ", ".join(filter(None, [kernel.origin, place])) or "no record"),
            ("samples", f"{samples} us" if samples else ""),
            ("layouts", _layouts(kernel)),
        ]
    )
    made = folded(head, told, knobs(kernel.values.items()), *_behind(kernel, tuned, room))
    made.set("id", kernel.anchor)
    return made


def _layouts(kernel: Kernel) -> str:
    return f"reads {', '.join(kernel.reads) or 'constants'}, makes {kernel.makes}"


def knobs(values: Iterator[tuple[str, object]]) -> Element:
    """The knobs of a config, one after the other."""
    pairs: list[Child] = [
        element(
            "span",
            element("i", f"{short(name, 40)} "),
            element("code", short(value_text(value), 60)),
        )
        for name, value in values
    ]
    return element("p", *pairs, class_="knobs")


def _behind(kernel: Kernel, tuned: TunedTask | None, room: Room) -> Iterator[Child]:
    if tuned is None:
        return
    yield from alternatives(tuned)
    config = config_of(kernel.config)
    if config is None or room.is_full:
        return
    programs = programs_of(tuned, config)
    if programs.lacks:
        yield note(short(programs.lacks, 300))
    for title, text in (("Loop program", programs.loops), ("Generated code", programs.code)):
        if not text:
            continue
        if room.has(text):
            yield folded(f"{title}, {counted(text.count(chr(10)) + 1, 'line')}", code(text))
        else:
            yield note(f"{title}: left out, as the page has no room for it.")


def alternatives(tuned: TunedTask) -> Iterator[Element]:
    """The best of each strategy, and the fastest configs with the knobs in which they differ."""
    best = tuned.fastest_by_strategy()
    if not best:
        return
    first = next(iter(best.values())).seconds
    heads = [
        Head("strategy"),
        Head("best us", numeric=True),
        Head("slower by", numeric=True),
        Head("trials", numeric=True),
        Head("failed", numeric=True),
    ]
    trials: dict[str, list[bool]] = {}
    for point in tuned.points:
        trials.setdefault(point.strategy, []).append(bool(point.failure))
    rows: list[Row] = []
    for name, ranked in best.items():
        failed = trials.get(name, [])
        slower = ranked.seconds / first - 1
        rows.append(
            [
                element("code", short(name, 60)),
                Number(microseconds(ranked.seconds), ranked.seconds),
                Number(percent(slower, 1), slower),
                Number(f"{len(failed):,}", len(failed)),
                Number(f"{sum(failed):,}", sum(failed)),
            ]
        )
    for name, failed in trials.items():
        if name not in best:
            counts = (Number(f"{n:,}", n) for n in (len(failed), sum(failed)))
            rows.append([element("code", short(name, 60)), Number("no time", None), "", *counts])
    yield element("h4", "Alternatives")
    yield table(heads, rows[:30])
    yield element("h4", "Fastest configs")
    yield _fastest(tuned)


def _fastest(tuned: TunedTask) -> Element:
    ranked = tuned.ranked[:_FASTEST]
    known = dict(ranked[0].record.config.values)
    heads = [
        Head("us", numeric=True),
        Head("record", numeric=True),
        Head("strategy"),
        Head("knobs that differ"),
    ]
    rows: list[Row] = []
    for one in ranked:
        values = one.record.config.values
        other = {name: v for name, v in values.items() if known.get(name, "") != v}
        said = ", ".join(f"{name}={value_text(value)}" for name, value in other.items())
        rows.append(
            [
                Number(microseconds(one.seconds), one.seconds),
                Number(f"{one.record.sequence}", one.record.sequence),
                element("code", short(one.record.config.strategy, 50)),
                short(said, 160) or "the fastest",
            ]
        )
    return table(heads, rows, sortable=False)
