"""The reports of run_all.sh as Markdown: `python benchmarks/cuda/summary.py OUT`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PARTS = ("correctness", "resnet18", "layers", "batches")


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
    for name, value in report.items():
        if name == "candidates":
            yield from _candidates(value)
        elif name == "convolutions":
            yield from _tasks(value)
        elif name == "sgemm":
            yield from _tasks([value])
        elif isinstance(value, dict) and "milliseconds" in value:
            yield from _network(name, value)
        elif isinstance(value, dict) and value.get("verify"):
            yield f"{name} untuned: {value['verify']}\n"
        elif isinstance(value, dict) and "error" in value:
            yield _error(name, value)
        elif name in ("drivers", "at_least_cudnn", "left_out", "error"):
            yield f"{name}: {value}\n"


def _candidates(found: dict[str, Any]) -> Iterator[str]:
    if "error" in found:
        yield _error("candidates", found)
        return
    yield f"{found['measured']} of {found['asked']} candidates measured: {found['outcomes']}\n"
    for one in found["failed"]:
        yield f"* {one['kind']}: `{one['task']}` {one['config']}: {one['text'][-120:]!r}"


def _error(name: str, found: dict[str, Any]) -> str:
    return f"{name}: {found['error'].strip().splitlines()[-1]}\n"


def _tasks(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield "| task | ours us | GFLOP/s | peak | peer / ours | trials/s | strategy |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        if "error" in row:
            yield f"| `{row.get('task', '?')}` | {row['error'].strip().splitlines()[-1]} |"
            continue
        tuning = row["tuning"]
        yield (
            f"| `{row['task']}` | {row['seconds']['tilewright'] * 1e6:.1f} | {row['gflops']:.0f} "
            f"| {_number(row['peak_share'], '.0%')} | {_number(row['speedup'], '.2f')} "
            f"| {tuning['trials_per_second']:.1f} | {tuning['strategy']} |"
        )
    yield ""


def _network(name: str, found: dict[str, Any]) -> Iterator[str]:
    verify, measured = found["verify"] or {}, found["measurement"] or {}
    yield f"### {name}\n"
    rate = _number(measured.get("trials_per_second"), ".1f")
    error = _number(verify.get("max_rel_error"), ".1e")
    yield f"{measured.get('trials')} trials, {rate} a second; relative error {error}\n"
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
    folder = Path(sys.argv[1])
    for part in PARTS:
        path = folder / f"{part}.json"
        if path.exists():
            print("\n".join(lines(json.loads(path.read_text(encoding="utf-8")))))
        else:
            print(f"## {part}\n\nnot run\n")


if __name__ == "__main__":
    main()
