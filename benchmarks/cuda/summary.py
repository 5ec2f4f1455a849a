"""The reports of run_all.sh as Markdown: `python benchmarks/cuda/summary.py OUT [--save]`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

from result_data import Row
from saving import add_save_options, machine_of, save

PARTS = ("correctness", "resnet18", "layers", "tensor_cores", "batches")


def lines(report: dict[str, Any]) -> Iterator[str]:
    environment = report["environment"]
    device = environment.get("device", {}).get("attributes", {})
    state = "" if report["finished"] else ", **unfinished**"
    yield f"## {report['part']} ({report['seconds']:.0f} s{state})\n"
    if report["rehearsal"]:
        yield "**A rehearsal on the emulated device: no figure here is a GPU's.**\n"
    yield f"{device.get('model', environment.get('no_device'))}, {environment['compiler']}\n"
    for what, text in (*environment["found"].items(), *environment["missing"].items()):
        yield f"* {what}: {text}"
    yield ""
    if "peer" in report:
        peer = report["peer"]
        told = ", ".join(f"{name} {version}" for name, version in peer["about"].items())
        yield f"PyTorch is absent: {peer['absent']}\n" if peer["absent"] else f"Peer: {told}\n"
    rows = {name: value for name, value in report.items() if isinstance(value, dict)}
    if tasks := [row for row in rows.values() if "task" in row]:
        yield from _tasks(tasks)
    for name, row in rows.items():
        if "measured" in row:
            yield from _candidates(row)
        elif "measurement" in row:
            yield from _network(name, row)
        elif "benchmark" in row:
            yield f"{name} untuned: {row['verify']}\n"
        if "error" in row:
            yield _error(name, row)
    for name in ("drivers", "at_least_cudnn", "left_out"):
        if name in report:
            yield f"{name}: {report[name]}\n"
    if "error" in report:
        yield _error(report["part"], report)


def _candidates(found: dict[str, Any]) -> Iterator[str]:
    yield f"{found['measured']} of {found['asked']} candidates measured: {found['outcomes']}\n"
    for one in found["failed"]:
        yield f"* {one['kind']}: `{one['task']}` {one['config']}: {one['text'][-120:]!r}"
    yield ""


def _error(name: str, found: dict[str, Any]) -> str:
    return f"{name}: {found['error'].strip().splitlines()[-1]}\n"


def _tasks(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield "| task | ours us | GFLOP/s | peak | peer / ours | trials/s | strategy |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        if "seconds" not in row:
            yield f"| `{row['task']}` | | | | | | |"
            continue
        tuning = row["tuning"]
        yield (
            f"| `{row['task']}` | {row['seconds']['tilewright'] * 1e6:.1f} | {row['gflops']:.0f} "
            f"| {_number(row['peak_share'], '.0%')} | {_number(row['speedup'], '.2f')} "
            f"| {tuning['trials_per_second']:.1f} | {tuning['strategy']} |"
        )
    yield ""
    for row in rows:
        for name, why in row.get("absent", {}).items():
            yield f"* `{row['task']}`: {name} is absent: {why.splitlines()[-1][:100]}"
    yield ""


def _network(name: str, found: dict[str, Any]) -> Iterator[str]:
    verify, measured = found["verify"] or {}, found["measurement"] or {}
    yield f"### {name}\n"
    rate = _number(measured.get("trials_per_second"), ".1f")
    error = _number(verify.get("max_rel_error"), ".1e")
    yield f"{measured.get('trials')} trials, {rate} a second; relative error {error}\n"
    if "milliseconds" not in found:
        return
    yield "| who | device ms | wall ms | who / ours |\n|---|---|---|---|"
    for who, times in found["milliseconds"].items():
        ratio = _number(found["speedup"].get(who), ".2f")
        yield f"| {who} | {times['device_ms']:.3f} | {times['wall_ms']:.3f} | {ratio} |"
    for mode, why in found["absent"].items():
        yield f"| {mode} | absent: {why.splitlines()[-1][:100]} | | |"
    yield ""


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    add_save_options(parser)
    options = parser.parse_args()
    folder = options.folder
    reports = []
    for part in PARTS:
        path = folder / f"{part}.json"
        if path.exists():
            reports.append(json.loads(path.read_text(encoding="utf-8")))
            print("\n".join(lines(reports[-1])))
        else:
            print(f"## {part}\n\nnot run\n")
    save_reports(options, reports)


def save_reports(options: argparse.Namespace, reports: Sequence[dict[str, Any]]) -> None:
    """Figures of a GPU, all parts' together; those of a rehearsal mean nothing and are left out."""
    found: dict[str, list[Row]] = {"cuda_layers": [], "cuda_tensor_cores": [], "cuda_networks": []}
    machine = None
    for report in reports:
        model = report["environment"].get("device", {}).get("attributes", {}).get("model")
        if report["rehearsal"] or model is None:
            continue
        machine = machine_of(model, 1)
        alone = "cuda_tensor_cores" if report["part"] == "tensor_cores" else "cuda_layers"
        for name, row in report.items():
            if isinstance(row, dict) and "task" in row and "seconds" in row:
                found[alone].append(layer(row))
            elif isinstance(row, dict) and "milliseconds" in row:
                found["cuda_networks"] += network(name, row)
    for question, rows in found.items():
        save(options, question, rows, machine=machine)


def layer(row: dict[str, Any]) -> Row:
    """Microseconds of ours and of the peer's fastest."""
    others = [seconds for who, seconds in row["seconds"].items() if who != "tilewright"]
    return Row(
        case=row["task"],
        ours=row["seconds"]["tilewright"] * 1e6,
        peer=min(others) * 1e6 if others else None,
        details={"GFLOP/s": row["gflops"], "trials a second": row["tuning"]["trials_per_second"]},
    )


def network(name: str, found: dict[str, Any]) -> Iterator[Row]:
    """The device's milliseconds, beside the fastest of PyTorch's modes that ran."""
    times = {mode: each["device_ms"] for mode, each in found["milliseconds"].items()}
    ours = times.pop("tilewright")
    if times:
        mode = min(times, key=times.__getitem__)
        yield Row(case=name, ours=ours, peer=times[mode], details={"beside": mode})


if __name__ == "__main__":
    main()
