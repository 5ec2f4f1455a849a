"""Operators that nobody wrote a schedule for, tuned for 20 s each, beside PyTorch.

    uv run python benchmarks/derived_operators.py --torch-python PATH [--budget 20s]

One thread, in turns on one core; each time is the median of a few launches behind as many that warm
the caches. PATH is a Python that has torch (2.13.0 was used): it runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from pathlib import Path
from statistics import median

from result_data import Row
from saving import add_save_options, save
from tuned_kernel import tuned_kernel

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.target import Target

TASKS = {
    "matmul": "matmul(1024x1024, 1024x1024)",
    "batch_matmul": "matmul(12x128x64, 12x64x128)",
    "conv1d": "conv1d(1x64x1024, 128x64x3, padding=1)",
    "depthwise": "conv2d(1x256x56x56, 256x1x3x3, padding=1, groups=256)",
    "layer_norm": "layer_norm(1024x1024, 1024:const, 1024:const)",
    "softmax": "softmax(1024x1024)",
}
ROUNDS, RUNS = 25, 5


class Peer:
    """The process that times PyTorch."""

    def __init__(self, python: str) -> None:
        script = Path(__file__).parent / "peers" / "torch_operators.py"
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([python, str(script)], stdin=pipe, stdout=pipe, text=True)

    def seconds(self, operator: str, runs: int) -> float:
        """Median time of a run over `runs`, after as many that warm the caches."""
        self._process.stdin.write(json.dumps({"operator": operator, "runs": runs}) + "\n")
        self._process.stdin.flush()
        return median(json.loads(self._process.stdout.readline())["seconds"])

    def close(self) -> None:
        """End the process."""
        self._process.stdin.close()
        self._process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch-python", required=True)
    parser.add_argument("--budget", default="20s")
    parser.add_argument("--tuner", default="evolutionary")
    parser.add_argument("--strategies", default="derived/*")
    add_save_options(parser)
    options = parser.parse_args()
    host = PluginHost.load()
    backend, target = host.backend("x86"), Target.parse("x86:threads=1")
    device = backend.probe()[0]
    tuned = {
        name: tuned_kernel(
            host,
            text,
            budget=options.budget,
            tuner=options.tuner,
            strategies=options.strategies,
            records="runs/derived_operators/records.jsonl",
        )
        for name, text in TASKS.items()
    }
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # cores of one machine differ by load
    peer = Peer(options.torch_python)
    ours: dict = {name: [] for name in tuned}
    theirs: dict = {name: [] for name in tuned}
    peaks = []
    for _ in range(ROUNDS):
        peaks.append(backend.measure_peak(device, target)[0])
        for name, kernel in tuned.items():
            ours[name].append(kernel.seconds(RUNS))
            theirs[name].append(peer.seconds(name, RUNS))
    peer.close()
    ratios = {
        name: [peer / own for peer, own in zip(theirs[name], ours[name], strict=True)]
        for name in tuned
    }
    print("| operator | ours ms | GFLOP/s | share of peak | PyTorch / ours | alternative |")
    print("|---|---|---|---|---|---|")
    rows = []
    for name, kernel in tuned.items():
        seconds = median(ours[name])
        flops = kernel.operations / seconds
        share = flops / median(peaks)
        print(
            f"| `{TASKS[name]}` | {seconds * 1e3:.3f} | {flops / 1e9:.1f} | {share:.1%} "
            f"| {median(ratios[name]):.2f} | {kernel.found.config.strategy} |"
        )
        rows.append(
            Row(
                case=TASKS[name],
                ours=seconds * 1e3,
                peer=median(theirs[name]) * 1e3,
                speedup=median(ratios[name]),
                details={"share of peak": share, "strategy": kernel.found.config.strategy},
            )
        )
    save(options, "derived_operators", rows, packages=["torch"], peer_python=options.torch_python)


if __name__ == "__main__":
    main()
