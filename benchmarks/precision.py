"""Nine real networks in bfloat16 beside OpenVINO as it comes, which takes bfloat16 where it can.

    uv run python benchmarks/precision.py [--networks resnet50,vgg19] [--threads 1,2] [--tune 45s]
        [--save]

Each network is tuned, given layouts and precisions by `pbqp`, timed in turns with OpenVINO, and
checked against ONNX Runtime in float32: medians, and OpenVINO's over ours. Records are kept, so a
second run goes on from the first. `tilewright bench networks` does the same for any network.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from networks import MODELS
from result_data import Row
from saving import add_save_options, save

from tilewright.options import Choice
from tilewright.vocabulary.target import Target
from tilewright_graph.cli.network_race import NetworkRace

COLUMNS = "network", "threads", "ms", "precision", "OpenVINO ms", "precision", "ratio", "rel error"


def compared(models: Mapping[str, Mapping[str, Any]], options: argparse.Namespace) -> Iterator[Row]:
    """A row for each model and number of threads, shown as a table while it grows.

    models   options of the stage `import`, by name
    """
    race = NetworkRace(
        options.folder,
        options.folder / "records.jsonl",
        [Choice("openvino")],
        options.tune,
        "bfloat16",
        ["verify.oracle=onnxruntime", "verify.rtol=0.1"],
    )
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}", flush=True)
    for threads in map(int, options.threads.split(",")):
        ratios = []
        for name, model in models.items():
            row = race.row(name, model, Target.parse(f"x86:threads={threads}"))
            if row is None:
                return
            peer, precision = row.peers_ms["openvino"], row.peers_precision["openvino"]
            ratios.append(peer / row.tilewright_ms)
            print(
                f"| {name} | {threads} | {row.tilewright_ms:.2f} | {row.precision} | {peer:.2f} "
                f"| {precision} | {ratios[-1]:.3f} | {row.max_rel_error:.1e} |",
                flush=True,
            )
            yield Row(
                case=f"{name}, threads={threads}",
                ours=row.tilewright_ms,
                peer=peer,
                details={"relative error": row.max_rel_error, "OpenVINO's precision": precision},
            )
        print(f"geometric mean, {threads} threads: {geometric_mean(ratios):.3f}", flush=True)


def add_compare_options(parser: argparse.ArgumentParser, tune: str, folder: str) -> None:
    """What `compared` reads, and whether its rows are saved."""
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--tune", default=tune, help="budget of a network and number of threads")
    parser.add_argument("--folder", type=Path, default=Path("runs") / folder)
    add_save_options(parser)


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
