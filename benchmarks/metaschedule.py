"""How soon derived strategies pass what TVM's MetaSchedule finds in 64 trials.

    uv run python benchmarks/metaschedule.py --peer-python PATH [--rounds 3] [--tasks conv2d matmul]

PATH is a Python that has apache-tvm (0.27.0.post1 was used, with xgboost); its settings are in
`peers/metaschedule.py`. One thread each, in turns: in every round the peer tunes a task, then
`tilewright tune --strategies 'derived/*'` does, as a process of its own and from nothing. Its clock
runs from before the process starts until the record that is faster is in its file. Faster is what
still is when all configs that led for a while are measured again at the end, in turns: a short time
may have been luck.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from result_data import Row
from saving import add_save_options, save

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.measure import Conditions
from tilewright_pipeline.context.run_setup import make_context
from tilewright_pipeline.measuring.measurement import Measurement
from tilewright_records.store.store import JsonlRecordStore

TASKS = {
    "conv2d": ("conv2d(1x64x56x56, 64x64x3x3, padding=1)", 2 * 64 * 56 * 56 * 64 * 9),
    "matmul": ("matmul(1024x1024, 1024x1024)", 2 * 1024**3),
}
"""Text form and operations."""
TARGET = "x86:threads=1"
ROUNDS = 9


@dataclass(frozen=True)
class Leader:
    """A config that led for a while: seconds and trials until then, record's number, GFLOP/s."""

    seconds: float
    trials: int
    sequence: int
    gflops: float


def peer(python: str, task: str, *options: str) -> dict[str, Any]:
    """What MetaSchedule found, and in what time."""
    script = Path(__file__).parent / "peers" / "metaschedule.py"
    command = [python, str(script), task, *options]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def ours(task: str, budget: str, seed: int) -> list[Leader]:
    """What led while `tilewright tune` ran, in order, as fast as it is when measured again."""
    with tempfile.TemporaryDirectory() as folder:
        records = Path(folder) / "records.jsonl"
        return measured_again(task, records, list(tuned(task, records, budget, seed)))


def tuned(task: str, records: Path, budget: str, seed: int) -> Iterator[Leader]:
    """Each improvement, while `tilewright tune` runs."""
    text, operations = TASKS[task]
    command = [
        *(str(Path(sys.executable).with_name("tilewright")), "tune", text, "--quiet"),
        *("--target", TARGET, "--conditions", "warm", "--tuner", "evolutionary"),
        *("--strategies", "derived/*", "--budget", budget, "--seed", str(seed)),
        *("--records", str(records)),
    ]
    start, best, trials = time.perf_counter(), 0.0, 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    for line in _lines(process, records):
        record = json.loads(line)
        trials += record["kind"] == "trial"
        speed = operations / median(record["costs"]) / 1e9 if record.get("costs") else 0.0
        if speed > best:
            best = speed
            yield Leader(time.perf_counter() - start, trials, record["sequence"], speed)
    if process.returncode:
        sys.exit(f"tilewright tune ended with {process.returncode}")


def measured_again(task: str, records: Path, leaders: list[Leader]) -> list[Leader]:
    """The same with speeds from rounds in which they take turns; 0 for one that fails now."""
    known = {record.sequence: record for record in JsonlRecordStore(records).records()}
    conditions = Conditions("warm", turns=ROUNDS)
    asked = [replace(known[each.sequence].trial.input, conditions=conditions) for each in leaders]
    with tempfile.TemporaryDirectory() as folder:
        context = make_context(PluginHost.load(), name="again", folder=Path(folder), target=TARGET)
        with Measurement(context) as measurement:
            trials = measurement.measure(asked)
    speeds = (
        TASKS[task][1] / trial.result.seconds / 1e9 if trial.result.seconds else 0.0
        for trial in trials
    )
    return [replace(each, gflops=speed) for each, speed in zip(leaders, speeds, strict=True)]


def _lines(process: subprocess.Popen, path: Path) -> Iterator[str]:
    """Whole lines of a file as they are written, until the process that writes it has ended."""
    at = 0
    while True:
        ended = process.poll() is not None
        data = path.read_bytes()[at:] if path.exists() else b""
        whole = data[: data.rfind(b"\n") + 1]
        at += len(whole)
        yield from whole.decode().splitlines()
        if ended:
            return
        time.sleep(0.05)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer-python", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--budget", default="20s", help="of ours")
    parser.add_argument("--batch", default="16", help="of the peer, candidates a round of search")
    add_save_options(parser)
    options = parser.parse_args()
    rows = []
    print("| task | round | MetaSchedule: GFLOP/s | s | ours passed it after s | trials "
          "| of its wall time | ours at the end: GFLOP/s |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|")
    ratios: dict[str, list[float]] = {task: [] for task in options.tasks}
    for number in range(options.rounds):
        for task in options.tasks:
            theirs = peer(
                options.peer_python, task, "--batch", options.batch, "--seed", str(number + 1)
            )
            leaders = ours(task, options.budget, number)
            found = next((one for one in leaders if one.gflops >= theirs["gflops"]), None)
            ratios[task].append(found.seconds / theirs["seconds"] if found else float("inf"))
            rows.append(
                Row(
                    case=f"{TASKS[task][0]}, round {number + 1}",
                    ours=found.seconds if found else None,
                    peer=theirs["seconds"],
                    speedup=theirs["seconds"] / found.seconds if found else 0.0,
                    details={
                        "MetaSchedule's GFLOP/s": theirs["gflops"],
                        "ours at the end, GFLOP/s": leaders[-1].gflops,
                        **({"trials": found.trials} if found else {}),
                    },
                )
            )
            when = f"{found.seconds:.1f} | {found.trials}" if found else "never | -"
            print(
                f"| {task} | {number + 1} | {theirs['gflops']:.1f} | {theirs['seconds']:.0f} "
                f"| {when} | {ratios[task][-1]:.4f} | {leaders[-1].gflops:.1f} |",
                flush=True,
            )
    for task, all_of_it in ratios.items():
        middle = median(all_of_it)
        print(f"\n{task}: median {middle:.4f} of its wall time (1/{1 / middle:.0f}; goal 1/20)")
    save(options, "metaschedule", rows, packages=["apache-tvm"], peer_python=options.peer_python)


if __name__ == "__main__":
    main()
