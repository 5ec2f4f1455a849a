"""ResNet-18 at one thread from nothing: seconds all in, and the share of the FMA peak it reaches.

    uv run python benchmarks/resnet18.py [--repeat 3]

Runs examples/resnet18.yaml in a process and a folder of its own, so that nothing is known before.
The seconds are those of the whole process, from its start to its end; the share is the network's
operations, those of the direct algorithm, over its median time and over the peak measured right
before and after the run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from result_data import Row
from saving import add_save_options, save

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.target import Target

EXAMPLE = Path(__file__).parent.parent / "examples" / "resnet18.yaml"


def run(folder: Path) -> tuple[float, dict]:
    """(seconds of the process, run.json) of the example, its records in the folder too."""
    path = folder / "resnet18.yaml"
    text = EXAMPLE.read_text(encoding="utf-8")
    path.write_text(text.replace("runs/resnet18/", f"{folder}/"), encoding="utf-8")
    tilewright = Path(sys.executable).with_name("tilewright")
    command = [str(tilewright), "run", str(path), "--out", str(folder / "run")]
    start = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - start, json.loads((folder / "run" / "run.json").read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=3)
    add_save_options(parser)
    options = parser.parse_args()
    backend, target = PluginHost.load().backend("x86"), Target.parse("x86:threads=1")
    device = backend.probe()[0]
    rows, saved = [], []
    for number in range(options.repeat):
        before, _ = backend.measure_peak(device, target)
        with tempfile.TemporaryDirectory() as folder:
            seconds, report = run(Path(folder))
        after, _ = backend.measure_peak(device, target)
        (entry,) = report["benchmark"]
        ours, theirs = entry["tilewright"], entry["peers"]["onnxruntime"]
        operations = sum(t["weight"] * t["gflops"] * t["best_seconds"] for t in report["tasks"])
        reached, peak = operations / ours["median_ms"] * 1e3, (before + after) / 2e9
        predicted = report["prediction"]["sum_of_kernels_ms"]
        rows.append(
            f"| {seconds:.1f} | {ours['median_ms']:.2f} | {ours['min_ms']:.2f} | {predicted:.2f} "
            f"| {theirs['median_ms']:.2f} | {reached:.0f} | {peak:.0f} | {reached / peak:.1%} |"
        )
        saved.append(
            Row(
                case=f"run {number + 1}",
                ours=100 * reached / peak,
                details={
                    "all in s": seconds,
                    "ours ms": ours["median_ms"],
                    "ONNX Runtime ms": theirs["median_ms"],
                    "predicted ms": predicted,
                    "peak GFLOP/s": peak,
                },
            )
        )
    print("| all in s | median ms | least ms | predicted ms | ONNX Runtime ms ", end="")
    print("| GFLOP/s | peak | share |\n|---|---|---|---|---|---|---|---|")
    print("\n".join(rows))
    save(options, "resnet18", saved, packages=["onnxruntime"])


if __name__ == "__main__":
    main()
