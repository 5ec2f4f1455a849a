"""Networks exported by PyTorch, tuned for a little while each, beside ONNX Runtime and OpenVINO.

    uv run python benchmarks/exported_networks.py --torch-python PATH [--tune 20s | --untuned]
        [--threads 1,2] [--networks swin_t,...] [--save]

PATH is a Python that has torch, torchvision and onnxscript (torch 2.13.0 was used); it only exports
the networks of peers/torch_networks.py, those that are not in `--folder` yet. Each is tuned, or
compiled with what strategies advise, timed in turns with both peers in float32, and its answers are
compared with ONNX Runtime's. The ratio is the faster peer's median over ours; what is saved beside
ONNX Runtime's has it among its details.
"""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Iterator
from pathlib import Path
from statistics import geometric_mean

from result_data import Row
from saving import add_save_options, save

from tilewright.options import Choice
from tilewright.vocabulary.target import Target
from tilewright_graph.cli.network_race import NetworkRace

EXPORT = Path(__file__).parent / "peers" / "torch_networks.py"
NETWORKS = (
    "mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large", "efficientnet_b0",
    "shufflenet_v2_x0_5", "shufflenet_v2_x1_0", "regnet_y_400mf", "swin_t", "convnext_tiny",
    "transformer_encoder", "lstm", "gru", "generator", "unet", "deeplabv3_resnet50", "r3d_18",
)  # fmt: skip
COLUMNS = "network", "threads", "ms", "ONNX Runtime ms", "OpenVINO ms", "ratio", "rel error"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--torch-python", required=True)
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--tune", default="20s", help="budget of a network and number of threads")
    parser.add_argument("--untuned", action="store_true", help="what strategies advise, unmeasured")
    parser.add_argument("--folder", type=Path, default=Path("runs/benchmark-exported"))
    add_save_options(parser)
    options = parser.parse_args()
    names = options.networks.split(",")
    options.folder.mkdir(parents=True, exist_ok=True)
    if missing := [name for name in names if not _model(options.folder, name).exists()]:
        export = [options.torch_python, str(EXPORT), str(options.folder), *missing]
        subprocess.run(export, check=True)
    rows = list(compared(names, options))
    question = "exported_untuned" if options.untuned else "exported_networks"
    save(options, question, rows, packages=["onnxruntime", "openvino"])


def compared(names: list[str], options: argparse.Namespace) -> Iterator[Row]:
    """A row for each network and number of threads, shown as a table while it grows."""
    records = "untuned.jsonl" if options.untuned else "records.jsonl"
    race = NetworkRace(
        options.folder,
        options.folder / records,
        [Choice("onnxruntime"), Choice("openvino", {"precision": "float32"})],
        None if options.untuned else options.tune,
        settings=["verify.oracle=onnxruntime", "verify.rtol=1e-4"],
    )
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}", flush=True)
    for threads in map(int, options.threads.split(",")):
        ratios = []
        for name in names:
            model = {"frontend": "onnx", "model": str(_model(options.folder, name))}
            row = race.row(name, model, Target.parse(f"x86:threads={threads}"))
            if row is None:
                return
            ort, openvino = row.peers_ms["onnxruntime"], row.peers_ms["openvino"]
            ratios.append(row.speedup_over_best_peer)
            print(
                f"| {name} | {threads} | {row.tilewright_ms:.4g} | {ort:.4g} | {openvino:.4g} "
                f"| {ratios[-1]:.3f} | {row.max_rel_error:.1e} |",
                flush=True,
            )
            yield Row(
                case=f"{name}, threads={threads}",
                ours=row.tilewright_ms,
                peer=ort,
                details={
                    "OpenVINO ms": openvino,
                    "times as fast as the better": ratios[-1],
                    "relative error": row.max_rel_error,
                },
            )
        print(f"geometric mean, {threads} threads: {geometric_mean(ratios):.3f}", flush=True)


def _model(folder: Path, name: str) -> Path:
    return folder / f"{name}.onnx"


if __name__ == "__main__":
    main()
