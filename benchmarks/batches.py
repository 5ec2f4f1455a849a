"""ResNet-18 of several images beside the faster of ONNX Runtime and OpenVINO, in float32.

    uv run python benchmarks/batches.py [--batches 2,4,8] [--threads 1,2] [--tune 20s] [--save]

Untuned, then tuned and given layouts; timed in turns with the peers, and checked, as networks in
`precision.py` are.
"""

from __future__ import annotations

import argparse

from precision import add_compare_options, compared
from saving import save

PACKAGES = ["openvino", "onnxruntime"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--batches", default="2,4,8")
    add_compare_options(parser, tune="20s", folder="benchmark-batches")
    options = parser.parse_args()
    models = {
        f"resnet-18x{batch}": {"model": "zoo:resnet-18", "frontend": {"zoo": {"batch": batch}}}
        for batch in map(int, options.batches.split(","))
    }
    told = {"tune": None, "folder": options.folder / "untuned"}
    untuned = argparse.Namespace(**{**vars(options), **told})
    save(options, "batches_untuned", list(compared(models, untuned, "float32")), packages=PACKAGES)
    save(options, "batches", list(compared(models, options, "float32")), packages=PACKAGES)


if __name__ == "__main__":
    main()
