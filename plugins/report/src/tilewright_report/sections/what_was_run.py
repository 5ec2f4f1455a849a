"""What was run: its setup, its stages, and how to run it again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

from tilewright_report.charts.colours import colours_of
from tilewright_report.charts.plot import legend
from tilewright_report.charts.shares import Part, shares
from tilewright_report.data.fields import Fields
from tilewright_report.data.kernels import peaks_of, threads_of
from tilewright_report.data.run_folder import Run
from tilewright_report.data.systems import OURS, systems
from tilewright_report.markup.blocks import code, facts, figure, folded, note, section
from tilewright_report.markup.element import Element, element
from tilewright_report.markup.words import fixed, short

_BYTES = {"l1_bytes": "L1", "l2_bytes": "L2", "l3_bytes": "L3"}
_MOST_CHARACTERS = 100_000  # of a pipeline file


def what_was_run(run: Run) -> Element | None:
    """Facts, the time of each stage, and a pipeline file; None where nothing is known of it."""
    report, setup = run.report, run.report.fields("setup")
    models = ", ".join(short(model, 80) for model in run.models)
    told = facts(
        [
            ("model", models),
            ("target", short(report.text("target"), 100)),
            ("device", _device(report.fields("device"))),
            ("peak", _peak(report)),
            ("precision", setup.text("precision")),
            ("seed", fixed(setup.number("seed")) if "seed" in setup else ""),
            ("started", setup.text("started").replace("T", " ").replace("+00:00", " UTC")),
            ("measured by", _measured_by(setup)),
            ("records", _records(run)),
            ("packs", _packs(setup)),
            ("versions", _versions(report)),
            ("folder", str(run.folder) if run.folder else ""),
        ]
    )
    lacks = [note(short(why, 300)) for why in run.lacks]
    made = [told if len(told) else None, *lacks, _stages(run), _again(run)]
    known = [one for one in made if one is not None]
    return section("run", "What was run", *known) if known else None


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


def _peak(report: Fields) -> str:
    """Of the run's threads; empty where nothing was measured."""
    peaks = [f"{name} {flops / 1e9:,.0f} GFLOP/s" for name, flops in peaks_of(report).items()]
    memory = report.fields("device").fields("bandwidth").number(threads_of(report))
    return ", ".join([*peaks, *([f"main memory {memory / 1e9:,.1f} GB/s"] if memory else [])])


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


def _packs(setup: Fields) -> str:
    """Those whose records the run had besides its own."""
    told = (
        f"{one.text('name')} ({one.text('source')}): {one.count('records'):,} records of the device"
        for one in setup.objects("packs")
    )
    return short(", ".join(told), 600)


def _versions(report: Fields) -> str:
    """Of what ran: Tilewright, Python, and the systems that it was compared with."""
    versions, oracle = report.fields("setup").fields("versions"), report.fields("verify")
    timed = (name for one in report.objects("benchmark") for name, _ in systems(one))
    names = dict.fromkeys([OURS, "python", *timed, oracle.text("oracle")])
    known = {name: text for name in names if (text := versions.text(name))}
    return short(", ".join(f"{name} {text}" for name, text in known.items()), 300)


def _stages(run: Run) -> Element | None:
    """The time of each, and of each of several networks by itself."""
    stages = run.report.objects("stages")
    begun = (one for one in stages if one.text("status") != "skipped")
    timed = [(one.text("name"), one.number("seconds") or 0.0) for one in begun]
    for network in run.networks:
        own = (one.number("seconds") or 0.0 for one in network.report.objects("stages"))
        timed.append((network.name, sum(own)))
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
    own = run.networks[0].report.objects("stages") if run.networks else []
    stages = [*report.objects("stages"), *own]
    if not stages or any("options" not in stage for stage in stages) or _is_one_of_several(run):
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
        **({"device": device} if (device := setup.text("device")) else {}),
        "seed": setup.count("seed"),
        "strategies": setup.text("strategies") or "*",
        "precision": setup.text("precision") or "float32",
        **({"plugins": plugins} if (plugins := _plugins(run)) else {}),
        "measure": measure,
        **({"record_store": store} if (store := setup.raw("record_store")) else {}),
        "stages": [{stage.text("name"): stage.raw("options")} for stage in stages],
    }
    text = yaml.safe_dump(pipeline, sort_keys=False, width=96)
    if len(text) > _MOST_CHARACTERS:  # a part of it would be no pipeline
        return None
    command = element("code", "tilewright run again.yaml --out runs/again")
    return folded("To run it again", note("As again.yaml, for ", command, ":"), code(text))


def _is_one_of_several(run: Run) -> bool:
    """Whether the stages before its own are those of the run in the folder above."""
    return run.folder is not None and (run.folder.parent / "run.json").is_file()


def _plugins(run: Run) -> list[str]:
    """The plugin files, as seen from here."""
    told = run.report.fields("setup").texts("plugins")
    return [os.path.normpath((run.folder or Path()) / one) for one in told]
