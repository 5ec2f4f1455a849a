"""Nine real networks in bfloat16 beside OpenVINO as it comes, which takes bfloat16 where it can.

    uv run python benchmarks/precision.py [--networks resnet50,vgg19] [--threads 1,2] [--tune 45s]
        [--save]

Each network is tuned, given layouts and precisions by `pbqp`, checked against ONNX Runtime in
float32 and timed in turns with OpenVINO: medians, and OpenVINO's over ours. Records are kept, so a
second run goes on from the first.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from networks import MODELS
from result_data import Row
from saving import add_save_options, save

import tilewright
from tilewright_pipeline.yaml.yaml_source import YamlSource

COLUMNS = "network", "threads", "ms", "precision", "OpenVINO ms", "precision", "ratio", "rel error"


def compared(models: Mapping[str, Mapping[str, Any]], options: argparse.Namespace) -> Iterator[Row]:
    """A row for each model and number of threads, shown as a table while it grows.

    models   options of the stage `import`, by name
    """
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}", flush=True)
    for threads in map(int, options.threads.split(",")):
        ratios = []
        for name, model in models.items():
            report = _measured(name, model, threads, options.tune, options.folder)
            (row,) = report["benchmark"]
            ours, peer = row["tilewright"], row["peers"]["openvino"]
            ratios.append(peer["median_ms"] / ours["median_ms"])
            shown = (
                f"{ours['median_ms']:.2f} | {ours['precision']} | {peer['median_ms']:.2f} "
                f"| {peer['precision']} | {ratios[-1]:.3f}"
            )
            error = f"{report['verify']['max_rel_error']:.1e}"
            print(f"| {name} | {threads} | {shown} | {error} |", flush=True)
            yield Row(
                case=f"{name}, threads={threads}",
                ours=ours["median_ms"],
                peer=peer["median_ms"],
                details={
                    "relative error": report["verify"]["max_rel_error"],
                    "OpenVINO's precision": peer["precision"],
                },
            )
        print(f"geometric mean, {threads} threads: {geometric_mean(ratios):.3f}", flush=True)


def add_compare_options(parser: argparse.ArgumentParser, tune: str, folder: str) -> None:
    """What `compared` reads, and whether its rows are saved."""
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--tune", default=tune, help="budget of a network and number of threads")
    parser.add_argument("--folder", type=Path, default=Path("runs") / folder)
    add_save_options(parser)


def _measured(
    name: str, model: Mapping[str, Any], threads: int, tune: str, folder: Path
) -> dict[str, Any]:
    """What `run.json` says of one network."""
    file = {
        "version": 1,
        "name": name,
        "target": {"kind": "x86", "threads": threads},
        "precision": "bfloat16",
        "records": str(folder / "records.jsonl"),
        "stages": [
            {"import": model},
            {"extract": {}},
            {"tune": {"scheduler": "gradient", "budget": tune}},
            {"graph-tune": {"graph_tuner": "pbqp"}},
            {"compile": {}},
            {"verify": {"oracle": "onnxruntime", "rtol": 0.1, "samples": 0}},
            {"benchmark": {"peers": ["openvino"]}},
        ],
    }
    pipeline = tilewright.Pipeline.load(YamlSource.parse(json.dumps(file), "precision.py"))
    return dict(pipeline.run(out=folder / f"{name}-{threads}").report)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--networks", default=",".join(MODELS))
    add_compare_options(parser, tune="45s", folder="benchmark-precision")
    options = parser.parse_args()
    models = {
        name: {"frontend": "onnx", "model": f"onnx-light:{name}", "weights": {"seed": 0}}
        for name in options.networks.split(",")
    }
    rows = list(compared(models, options))
    save(options, "precision", rows, packages=["openvino", "onnxruntime"])


if __name__ == "__main__":
    main()
