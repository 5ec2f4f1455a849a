"""A perceptron of two layers: small enough to try things on."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tilewright_graph.network.network import Network

if TYPE_CHECKING:
    from tilewright_graph.frontends.zoo.zoo_options import ZooOptions
    from tilewright_graph.network.builder import NetworkBuilder

_WIDTHS = (64, 48, 10)


def perceptron(builder: NetworkBuilder, options: ZooOptions, seed: int) -> Network:
    """A dense layer with a bias and relu, another one, and softmax; the logits stay observed."""
    rng = np.random.default_rng(seed)
    first, second = (
        (rng.standard_normal((behind, before)) / before**0.5).astype(np.float32)
        for before, behind in pairwise(_WIDTHS)
    )
    bias = (rng.standard_normal((1, _WIDTHS[1])) / 10).astype(np.float32)
    data = builder.input("data", (options.batch, _WIDTHS[0]))
    hidden = builder.relu(builder.add(builder.dense(data, first), bias))
    logits = builder.dense(hidden, second)
    return builder.network([builder.softmax(logits)], observed=[logits])
