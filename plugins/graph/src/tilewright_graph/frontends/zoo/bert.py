"""The encoder of BERT-base."""

from __future__ import annotations

import numpy as np

from tilewright_graph.frontends.zoo.layers import RELU_GAIN, Layers
from tilewright_graph.network.network import Network

_LAYERS, _WIDTH, _HEADS, _INSIDE = 12, 768, 12, 3072
_EPSILON = 1e-12


def bert_base(layers: Layers) -> Network:
    """From embeddings [batch, sequence, 768] to as many vectors.

    The input `mask`, [batch, 1, 1, sequence], is added to the scores. Devlin et al., "BERT", 2018:
    what lies between its embeddings and its pooler.
    """
    return _Encoder(layers).network()


class _Encoder:
    def __init__(self, layers: Layers) -> None:
        self._layers = layers
        scale = np.full((1, 1, 1, 1), (_WIDTH // _HEADS) ** -0.5, np.float32)
        self._scale = layers.builder.constant(scale, "scale")

    def network(self) -> Network:
        layers, b = self._layers, self._layers.builder
        x = b.input("embeddings", (layers.batch, layers.sequence, _WIDTH))
        mask = b.input("mask", (layers.batch, 1, 1, layers.sequence))
        for _ in range(_LAYERS):
            x = layers.layer_norm(b.add(self._attention(x, mask), x), _EPSILON)
            inside = b.gelu(layers.dense(x, _INSIDE, RELU_GAIN))
            x = layers.layer_norm(b.add(layers.dense(inside, _WIDTH), x), _EPSILON)
        return b.network([x])

    def _attention(self, x: str, mask: str) -> str:
        layers, b = self._layers, self._layers.builder
        query, key, value = (
            self._heads(layers.dense(x, _WIDTH), axes)
            for axes in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
        )
        scores = b.add(b.multiply(b.matmul(query, key), self._scale), mask)
        mixed = b.transpose(b.matmul(b.softmax(scores), value), axes=[0, 2, 1, 3])
        mixed = b.reshape(mixed, shape=(layers.batch, layers.sequence, _WIDTH))
        return layers.dense(mixed, _WIDTH)

    def _heads(self, x: str, axes: list[int]) -> str:
        layers, b = self._layers, self._layers.builder
        shape = layers.batch, layers.sequence, _HEADS, _WIDTH // _HEADS
        return b.transpose(b.reshape(x, shape=shape), axes=axes)
