"""Nine real networks beside their peers, in float32 or bfloat16.

    uv run python benchmarks/precision.py [--precision bfloat16] [--networks resnet50,vgg19]
        [--threads 1,2] [--tune 45s] [--save]

float32   beside the faster of ONNX Runtime and OpenVINO, both of which compute in float32
bfloat16  beside OpenVINO as it comes, which takes bfloat16 where it can

Each network is tuned, given layouts and precisions by `pbqp`, timed in turns with its peers, and
checked against ONNX Runtime in float32: medians, and the fastest peer's over ours. Records are
kept, so a second run goes on from the first. `tilewright bench networks` does the same for any
network.
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

PEERS = {
    "float32": [Choice("onnxruntime"), Choice("openvino", {"precision": "float32"})],
    "bfloat16": [Choice("openvino")],
}
QUESTIONS = {"float32": "float32", "bfloat16": "precision"}
COLUMNS = "network", "threads", "ms", "precision", "peer", "ms", "precision", "ratio", "rel error"


def compared(
    models: Mapping[str, Mapping[str, Any]], options: argparse.Namespace, precision: str
) -> Iterator[Row]:
    """A row for each model and number of threads, shown as a table while it grows.

    models   options of the stage `import`, by name
    """
    race = NetworkRace(
        options.folder,
        options.folder / "records.jsonl",
        PEERS[precision],
        options.tune,
        precision,
        ["verify.oracle=onnxruntime", *(["verify.rtol=0.1"] if precision != "float32" else [])],
    )
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}", flush=True)
    for threads in map(int, options.threads.split(",")):
        ratios = []
        for name, model in models.items():
            row = race.row(name, model, Target.parse(f"x86:threads={threads}"))
            if row is None:
                return
            peer = min(row.peers_ms, key=row.peers_ms.__getitem__)
            ratios.append(row.speedup_over_best_peer)
            print(
                f"| {name} | {threads} | {row.tilewright_ms:.2f} | {row.precision} | {peer} "
                f"| {row.peers_ms[peer]:.2f} | {row.peers_precision[peer]} | {ratios[-1]:.3f} "
                f"| {row.max_rel_error:.1e} |",
                flush=True,
            )
            yield Row(
                case=f"{name}, threads={threads}",
                ours=row.tilewright_ms,
                peer=row.peers_ms[peer],
                details={
                    "relative error": row.max_rel_error,
                    "sum of kernels ms": row.sum_of_kernels_ms,
                    "peer": peer,
                    "its precision": row.peers_precision[peer],
                },
            )
        print(f"geometric mean, {threads} threads: {geometric_mean(ratios):.3f}", flush=True)


def prediction(row: Row) -> Row:
    """By what share the sum of the kernels' recorded times is off the network's, in percent."""
    kernels = row.details["sum of kernels ms"]
    return Row(case=row.case, ours=abs(kernels / row.ours - 1) * 100)


def add_compare_options(parser: argparse.ArgumentParser, tune: str, folder: str) -> None:
    """What `compared` reads, and whether its rows are saved."""
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--tune", default=tune, help="budget of a network and number of threads")
    parser.add_argument("--folder", type=Path, default=Path("runs") / folder)
    add_save_options(parser)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--precision", default="bfloat16", choices=PEERS)
    parser.add_argument("--networks", default=",".join(MODELS))
    add_compare_options(parser, tune="45s", folder="benchmark-precision")
    options = parser.parse_args()
    models = {
        name: {"frontend": "onnx", "model": f"onnx-light:{name}", "weights": {"seed": 0}}
        for name in options.networks.split(",")
    }
    rows = list(compared(models, options, options.precision))
    save(options, QUESTIONS[options.precision], rows, packages=["openvino", "onnxruntime"])
    if options.precision == "float32":
        save(options, "float32_prediction", list(map(prediction, rows)))


if __name__ == "__main__":
    main()
