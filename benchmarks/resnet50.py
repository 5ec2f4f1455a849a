"""ResNet-50 beside ONNX Runtime at one and two threads, with the floor and the rate of trials.

    uv run python benchmarks/resnet50.py [--budget 60s] [--threads 1 2]

Both run in turns in one process (the pipeline's benchmark stage). The floor is the network's
operations over the FMA peak: nothing that multiplies directly can be faster.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from result_data import Row
from saving import add_save_options, save

import tilewright

EXAMPLE = Path(__file__).parent.parent / "examples" / "resnet50.yaml"


def pipeline_file(threads: int) -> Path:
    """examples/resnet50.yaml for a number of threads, with records of its own."""
    folder = Path(f"runs/benchmark-resnet50-{threads}")
    folder.mkdir(parents=True, exist_ok=True)
    text = re.sub(r"threads: \d+", f"threads: {threads}", EXAMPLE.read_text("utf-8"))
    path = folder / "pipeline.yaml"
    path.write_text(text.replace("runs/resnet50/", f"{folder}/"), "utf-8")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    add_save_options(parser)
    options = parser.parse_args()
    rows, splits = [], []
    networks, predictions, rates, shares = [], [], [], []
    for threads in options.threads:
        settings = [f"tune.budget={options.budget}"]
        path = pipeline_file(threads)
        run = tilewright.Pipeline.load(path, settings=settings).run(out=path.parent)
        report = run.report
        (entry,) = report["benchmark"]
        ours = entry["tilewright"]["median_ms"]
        theirs = entry["peers"]["onnxruntime"]["median_ms"]
        operations = sum(t["weight"] * t["gflops"] * t["best_seconds"] for t in report["tasks"])
        floor = operations * 1e9 / report["device"]["peak_flops"][str(threads)] * 1e3
        predicted = report["prediction"]["sum_of_kernels_ms"]
        error = report["verify"]["max_rel_error"]
        measured = report["measurement"]
        rows.append(
            f"| {threads} | {floor:.1f} | {ours:.2f} | {theirs:.2f} | {theirs / ours:.2f} "
            f"| {predicted:.2f} | {error:.1e} | {measured['trials_per_second']:.1f} |"
        )
        trials = max(measured["trials"], 1)
        parts = (f"{part} {1e3 * s / trials:.1f}" for part, s in measured["split"].items())
        case = f"{threads} thread{'s' * (threads > 1)}"
        told = {"floor ms": floor, "relative error": error}
        networks.append(Row(case=case, ours=ours, peer=theirs, details=told))
        told = {"predicted ms": predicted}
        predictions.append(Row(case=case, ours=100 * abs(predicted / ours - 1), details=told))
        rates.append(Row(case=case, ours=measured["trials_per_second"]))
        spent = measured["split"].get("search", 0.0) / measured["seconds"]
        shares.append(Row(case=case, ours=100 * spent))
        splits.append(f"{threads} threads, ms of one trial: {', '.join(parts)}")
    print("| threads | floor ms | ours ms | ONNX Runtime ms | ORT / ours | predicted ms ", end="")
    print("| rel. error | trials/s |\n|---|---|---|---|---|---|---|---|")
    print("\n".join([*rows, "", *splits]))
    save(options, "resnet50", networks, packages=["onnxruntime"])
    save(options, "prediction", predictions)
    save(options, "trials", rates)
    save(options, "tuners_share", shares)


if __name__ == "__main__":
    main()
