"""What was run: its setup, its stages, and how to run it again."""

from __future__ import annotations

from typing import Any

import yaml

from tilewright_report.charts.colours import colours_of
from tilewright_report.charts.plot import legend
from tilewright_report.charts.shares import Part, shares
from tilewright_report.data.fields import Fields
from tilewright_report.data.run_folder import Run
from tilewright_report.markup.blocks import code, facts, figure, folded, note, section
from tilewright_report.markup.element import Element
from tilewright_report.markup.words import fixed, short

_BYTES = {"l1_bytes": "L1", "l2_bytes": "L2", "l3_bytes": "L3"}


def what_was_run(run: Run) -> Element:
    """Facts, the time of each stage, and a pipeline file."""
    report, setup = run.report, run.report.fields("setup")
    models = ", ".join(
        short(m.text("origin") or m.text("name"), 80) for m in report.objects("models")
    )
    told = facts(
        [
            ("model", models),
            ("target", short(report.text("target"), 100)),
            ("device", _device(report.fields("device"))),
            ("precision", setup.text("precision")),
            ("seed", fixed(setup.number("seed")) if "seed" in setup else ""),
            ("started", setup.text("started").replace("T", " ").replace("+00:00", " UTC")),
            ("measured by", _measured_by(setup)),
            ("records", _records(run)),
            ("versions", _versions(setup.fields("versions"))),
            ("folder", str(run.folder) if run.folder else ""),
        ]
    )
    lacks = [note(f"Without its records: {short(why, 300)}") for why in run.lacks]
    return section("run", "What was run", told, *lacks, _stages(report), _again(run))


def _device(device: Fields) -> str:
    known = device.fields("attributes")
    caches = [
        f"{name} {size / 1024:,.0f} KiB"
        for key, name in _BYTES.items()
        if (size := known.number(key))
    ]
    others = [f"{key} {value}" for key in ("isa", "cores", "llvm") if (value := known.raw(key))]
    named = known.text("model") or device.text("name")
    return ", ".join(filter(None, [named, *(short(one, 60) for one in others), *caches]))


def _measured_by(setup: Fields) -> str:
    runner, conditions = setup.raw("runner"), setup.fields("conditions")
    if not setup:
        return ""
    name = (
        runner if isinstance(runner, str) else ", ".join(name for name, _ in Fields(runner).items())
    )
    samples = conditions.count("repeat")
    return f"{short(name)}, {samples} samples of a trial, constants {conditions.text('constants')}"


def _records(run: Run) -> str:
    if run.tuned is None:
        return ""
    store = run.tuned.history.store
    bad = f", {store.bad_lines:,} lines that are none" if store.bad_lines else ""
    return f"{short(str(store.path), 120)}: {run.tuned.trials:,} trials of this run's tasks{bad}"


def _versions(versions: Fields) -> str:
    known = {name: text for name in ("tilewright", "python") if (text := versions.text(name))}
    return ", ".join(f"{name} {text}" for name, text in known.items())


def _stages(report: Fields) -> Element | None:
    stages = report.objects("stages")
    timed = [(one.text("name"), one.number("seconds") or 0.0) for one in stages]
    if not any(seconds for _, seconds in timed):
        return None
    colours = colours_of(name for name, _ in timed)
    parts = [
        Part(short(name, 24), seconds, colours[name], f"{name}: {seconds:,.1f} s")
        for name, seconds in timed
    ]
    keys = ((colours[name], f"{short(name, 30)} {seconds:,.1f} s") for name, seconds in timed)
    whole = sum(seconds for _, seconds in timed)
    caption = f"Its stages took {whole:,.0f} s."
    return figure(shares(parts, "seconds of each stage"), caption, legend(keys))


def _again(run: Run) -> Element | None:
    """The pipeline as a file, with the command that runs it."""
    report, setup = run.report, run.report.fields("setup")
    stages = report.objects("stages")
    if not stages or any("options" not in stage for stage in stages):
        return None
    measure = {
        name: value
        for name, value in setup.fields("conditions").items()
        if name != "turns" and isinstance(value, int | float | str)
    }
    for part in ("runner", "builder"):
        if setup.raw(part):
            measure[part] = setup.raw(part)
    pipeline: dict[str, Any] = {
        "version": 1,
        "name": report.text("name"),
        "target": report.text("target"),
        "seed": setup.count("seed"),
        "strategies": setup.text("strategies") or "*",
        "precision": setup.text("precision") or "float32",
        "measure": measure,
        "stages": [{stage.text("name"): stage.raw("options")} for stage in stages],
    }
    text = yaml.safe_dump(pipeline, sort_keys=False, width=96)
    command = "tilewright run again.yaml --out runs/again"
    return folded("To run it again", note(f"As again.yaml, for {command}:"), code(text[:8000]))
