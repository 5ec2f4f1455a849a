"""Constants that hold the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tilewright_graph.network.network import Network
from tilewright_tensor.operators.operators import Operators

_LOOKED_AT = 16  # elements, before constants are compared as a whole


def merge_constants(network: Network, _operators: Operators) -> Network:
    """The network with one constant where several are equal bit by bit.

    Each would be read from memory of its own, where the steps of a recurrent layer, or layers that
    share their weights, find them in the cache. Results keep their names.
    """
    taken: dict[str, str] = {}
    alike: dict[Any, list[str]] = {}
    for name, array in network.constants.items():
        if name in network.results:
            continue
        known = alike.setdefault(_glance(array), [])
        same = next((other for other in known if _equal(array, network.constants[other])), None)
        if same is None:
            known.append(name)
        else:
            taken[name] = same
    if not taken:
        return network
    return replace(
        network,
        nodes=tuple(
            replace(node, inputs=tuple(taken.get(name, name) for name in node.inputs))
            for node in network.nodes
        ),
        constants={n: array for n, array in network.constants.items() if n not in taken},
        specs={name: spec for name, spec in network.specs.items() if name not in taken},
    )


def _glance(array: Any) -> tuple[Any, ...]:
    """What differs between most constants and is soon seen."""
    some = array.flat[:: max(1, array.size // _LOOKED_AT)]
    return str(array.dtype), array.shape, some.tobytes()


def _equal(first: Any, second: Any) -> bool:
    bits = f"u{first.itemsize}"
    return np.array_equal(first.view(bits), second.view(bits))
