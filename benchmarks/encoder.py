"""A transformer's encoder in bfloat16 beside OpenVINO as it comes: BERT-base, 128 tokens.

    uv run python benchmarks/encoder.py [--sequence 128] [--batch 1] [--threads 1,2] [--tune 60s]
        [--save]

`zoo:bert-base`, tuned, given layouts and precisions by `pbqp`, timed in turns with OpenVINO, and
checked against ONNX Runtime in float32, as networks in `precision.py` are.
"""

from __future__ import annotations

import argparse

from precision import add_compare_options, compared
from saving import save


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sequence", type=int, default=128)
    parser.add_argument("--batch", type=int, default=1)
    add_compare_options(parser, tune="60s", folder="benchmark-encoder")
    options = parser.parse_args()
    zoo = {"batch": options.batch, "sequence": options.sequence}
    model = {"model": "zoo:bert-base", "frontend": {"zoo": zoo}}
    name = f"encoder-12x{options.batch}x{options.sequence}"
    rows = list(compared({name: model}, options, "bfloat16"))
    save(options, "encoder", rows, packages=["openvino", "onnxruntime"])


if __name__ == "__main__":
    main()
