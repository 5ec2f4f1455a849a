"""A transformer's encoder in bfloat16 beside OpenVINO as it comes: BERT-base, sequence 128.

    uv run python benchmarks/encoder.py [--layers 12] [--sequence 128] [--batch 1] [--threads 1,2]
        [--tune 60s] [--save]

Layers of width 768 with 12 heads and 3072 inside, random weights, a mask that is added to the
scores. It is written as an ONNX file, tuned, given layouts and precisions by `pbqp`, checked
against ONNX Runtime in float32 and timed in turns with OpenVINO, as networks in `precision.py` are.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from precision import add_compare_options, compared
from saving import save

from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.network import Network
from tilewright_onnx.model.writer import write_model

WIDTH, HEADS, INSIDE = 768, 12, 3072


class Encoder:
    """Layers as of Devlin et al., "BERT", 2018: normalised behind each residual."""

    def __init__(self, batch: int, sequence: int) -> None:
        self._builder = NetworkBuilder("encoder")
        self._rng = np.random.default_rng(0)
        self._batch, self._sequence = batch, sequence

    def network(self, layers: int) -> Network:
        """From embeddings and a mask, [batch, 1, 1, sequence], to as many vectors."""
        b = self._builder
        embeddings = b.input("embeddings", (self._batch, self._sequence, WIDTH))
        mask = b.input("mask", (self._batch, 1, 1, self._sequence))
        x = self._normal(embeddings)
        for _ in range(layers):
            x = self._normal(b.add(self._attention(x, mask), x))
            inside = b.gelu(self._dense(x, WIDTH, INSIDE))
            x = self._normal(b.add(self._dense(inside, INSIDE, WIDTH), x))
        return b.network([x])

    def _attention(self, x: str, mask: str) -> str:
        b, depth = self._builder, WIDTH // HEADS
        query, key, value = (
            self._heads(self._dense(x, WIDTH, WIDTH), axes)
            for axes in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
        )
        scores = b.matmul(query, key)
        scores = b.add(b.multiply(scores, self._filled(depth**-0.5)), mask)
        mixed = b.transpose(b.matmul(b.softmax(scores), value), axes=[0, 2, 1, 3])
        return self._dense(
            b.reshape(mixed, shape=(self._batch, self._sequence, WIDTH)), WIDTH, WIDTH
        )

    def _heads(self, x: str, axes: list[int]) -> str:
        shape = self._batch, self._sequence, HEADS, WIDTH // HEADS
        return self._builder.transpose(self._builder.reshape(x, shape=shape), axes=axes)

    def _dense(self, x: str, before: int, behind: int) -> str:
        weights = self._rng.standard_normal((before, behind), np.float32) / before**0.5
        bias = 0.1 * self._rng.standard_normal((1, 1, behind), np.float32)
        return self._builder.add(self._builder.matmul(x, np.float32(weights)), np.float32(bias))

    def _normal(self, x: str) -> str:
        scale = 1 + 0.1 * self._rng.standard_normal(WIDTH, np.float32)
        shift = 0.1 * self._rng.standard_normal(WIDTH, np.float32)
        return self._builder.layer_norm(x, np.float32(scale), np.float32(shift), epsilon=1e-12)

    def _filled(self, value: float) -> Any:
        return np.full((1, 1, 1, 1), value, np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--sequence", type=int, default=128)
    parser.add_argument("--batch", type=int, default=1)
    add_compare_options(parser, tune="60s", folder="benchmark-encoder")
    options = parser.parse_args()
    name = f"encoder-{options.layers}x{options.batch}x{options.sequence}"
    options.folder.mkdir(parents=True, exist_ok=True)
    file = options.folder / f"{name}.onnx"
    network = Encoder(options.batch, options.sequence).network(options.layers)
    file.write_bytes(write_model(network).SerializeToString())
    rows = list(compared({name: {"frontend": "onnx", "model": str(file)}}, options))
    save(options, "encoder", rows, packages=["openvino", "onnxruntime"])


if __name__ == "__main__":
    main()
