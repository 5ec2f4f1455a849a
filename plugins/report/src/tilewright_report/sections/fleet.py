"""The devices of a run that several measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilewright_report.charts.colours import colours_of
from tilewright_report.charts.curves import Curve, curves
from tilewright_report.charts.lanes import Lane, Stretch, lanes
from tilewright_report.charts.plot import legend
from tilewright_report.data.fields import Fields
from tilewright_report.data.run_folder import Run
from tilewright_report.markup.blocks import Head, Number, Row, figure, section, table
from tilewright_report.markup.element import Element
from tilewright_report.markup.words import fixed, percent, short

_ROWS, _LANES, _CURVES = 600, 32, 7


@dataclass(frozen=True, slots=True)
class Use:
    """What a device did for a while, as `use` of run.json has it."""

    start: float
    end: float
    busy: float
    pace: float | None


def fleet(run: Run) -> Element | None:
    """Trials and faults by device, when each worked, and whether it kept its pace."""
    measured = run.report.fields("measurement")
    devices = {name: Fields(told) for name, told in measured.fields("devices").items()}
    if not devices:
        return None
    uses = {name: known for name, told in devices.items() if (known := _uses(told))}
    builders = [
        [short(name, 60), ", ".join(Fields(told).fields("faults").amounts()) or "none"]
        for name, told in measured.fields("builders").items()
    ]
    lost = table([Head("builder"), Head("faults")], builders) if builders else None
    return section("fleet", "Devices", _table(devices, uses), _work(uses), _pace(uses), lost)


def _uses(told: Fields) -> list[Use]:
    rows = told.rows("use", 4)
    return [
        Use(start, end, busy, pace)
        for start, end, busy, pace in rows
        if start is not None and end is not None and busy is not None and 0 <= start < end
    ]


def _table(devices: Mapping[str, Fields], uses: Mapping[str, Sequence[Use]]) -> Element:
    whole = sum(told.count("trials") for told in devices.values()) or 1
    last = _end(uses)
    heads = [
        Head("device"),
        Head("trials", numeric=True),
        Head("share", numeric=True, said="of all trials"),
        Head("busy", numeric=True, said="of the time until the last device was done"),
        Head("slowest", numeric=True, said="that it was, beside the median of all devices"),
        Head("batches measured again", said="by why: lost, failed, or set aside for drift"),
    ]
    rows: list[Row] = []
    for name, told in sorted(devices.items(), key=lambda one: -one[1].count("trials")):
        faults = told.fields("faults").amounts()
        again = (f"{int(count)} {kind.replace('_', ' ')}" for kind, count in faults.items())
        trials, own = told.count("trials"), uses.get(name, ())
        busy = sum(use.busy for use in own) / last if own else None
        paces = [use.pace for use in own if use.pace is not None]
        slowest = max(paces, default=None)
        rows.append(
            [
                short(name, 60),
                Number(f"{trials:,}", trials),
                Number(percent(trials / whole, 1), trials, trials / whole),
                Number(percent(busy), busy, busy or 0.0),
                Number(fixed(slowest and (slowest - 1) * 100, 0, " %"), slowest),
                ", ".join(again) or "none",
            ]
        )
    return table(heads, rows[:_ROWS])


def _end(uses: Mapping[str, Sequence[Use]]) -> float:
    return max((use.end for own in uses.values() for use in own), default=1.0)


def _work(uses: Mapping[str, Sequence[Use]]) -> Element | None:
    """When each worked, those that worked least first where there are many."""
    if not uses:
        return None
    last = _end(uses)
    worked = {name: sum(use.busy for use in own) for name, own in uses.items()}
    shown = sorted(uses, key=worked.__getitem__)[:_LANES]
    rows = []
    for name in sorted(shown) if len(shown) == len(uses) else shown:
        stretches = []
        for use in uses[name]:
            share = use.busy / (use.end - use.start)
            said = f"{name}\n{use.start:,.1f} to {use.end:,.1f} s: busy {percent(share)}"
            stretches.append(Stretch(use.start, use.end, share, said))
        rows.append(Lane(name, stretches))
    whole = sum(worked.values()) / (last * len(uses))
    told = f"When each device worked: all of them together, {percent(whole)} of the time."
    if len(shown) < len(uses):
        told += f" The {_LANES} of {len(uses):,} that worked least are drawn."
    return figure(lanes(rows, "work of the devices over time", "s of measuring"), told)


def _pace(uses: Mapping[str, Sequence[Use]]) -> Element | None:
    """How long one and the same candidate takes on each, over time: drift."""
    paces = {
        name: [(use.end, (use.pace - 1) * 100) for use in own if use.pace is not None]
        for name, own in uses.items()
    }
    known = {name: points for name, points in paces.items() if len(points) > 1}
    if not known:
        return None
    spread = {name: max(abs(pace) for _, pace in points) for name, points in known.items()}
    shown = sorted(sorted(known, key=lambda name: -spread[name])[:_CURVES])
    colours = colours_of(shown)
    lines = [Curve(name, known[name], colours[name]) for name in shown]
    told = (
        "How much longer one and the same candidate takes, measured again with every batch, than "
        "in the median of all devices: a step is a device that changed its speed."
    )
    if len(shown) < len(known):
        told += f" The {_CURVES} of {len(known):,} devices that differed most."
    keys = legend((colours[name], short(name, 40)) for name in shown)
    return figure(curves(lines, "pace of the devices", "s of measuring", "%"), told, keys)
