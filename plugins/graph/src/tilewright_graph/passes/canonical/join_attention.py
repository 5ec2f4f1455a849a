"""Attention as one operator: two products with a softmax between them."""

from __future__ import annotations

import numpy as np

from tilewright_graph.network.builder import NetworkBuilder
from tilewright_graph.network.network import Network, Node
from tilewright_graph.passes.rewrite import rewrite
from tilewright_tensor.expressions.dtype import DATA_TYPES, numpy_type
from tilewright_tensor.operators.operators import Operators

_FEWEST_QUERIES = 8
"""With fewer, nearly all of the time goes to reading keys and values."""
_MOST_KEYS = 8192
"""More, and a cache does not hold the scores of a vector of queries."""


def join_attention(network: Network, operators: Operators) -> Network:
    """The network with `softmax(queries @ keys * scale + mask) @ values` as `attention`.

    The scale may be constant factors of queries and keys, too; where no mask is added, it is zero,
    and constants that are added one after the other are one mask. Keys that `where` leaves out for
    all queries become zeros, and get a mask of -inf. Scores that something else reads are left
    alone.
    """
    return rewrite(network, operators, _joined)


def _joined(node: Node, network: Network, builder: NetworkBuilder) -> str | None:
    if node.operator != "matmul":
        return None
    shares, values = node.inputs
    softmax = _inner(shares, network, builder)
    shape, value_shape = builder.specs[shares].shape, builder.specs[values].shape
    rank, dtype = len(shape), builder.specs[shares].dtype
    if softmax is None or softmax.operator != "softmax":
        return None
    if softmax.attributes["axis"] % rank != rank - 1 or not _pays(shape, dtype):
        return None
    scores, mask = softmax.inputs[0], ""
    chosen = _chosen(scores, network, builder)
    if chosen:
        given, scores = chosen
    if added := _summand(scores, network, builder) or _constants(scores, network, builder):
        scores, mask = added
    scores, scale = _without_factors(scores, network, builder)
    product = _inner(scores, network, builder)
    if product is None or product.operator != "matmul":
        return None
    (queries, first), (keys, second) = (
        _without_factors(name, None, builder) for name in product.inputs
    )
    query_shape, key_shape = builder.specs[queries].shape, builder.specs[keys].shape
    if not query_shape[:-2] == key_shape[:-2] == value_shape[:-2] == shape[:-2]:
        return None
    if not mask:
        mask = builder.constant(np.zeros([1] * rank, dtype), "no_mask")
    keys = _turned(keys, builder)
    if chosen:
        keys, mask = _without_others(given, keys, mask, builder)
    operands = queries, keys, values, mask
    attributes = {"scale": scale * first * second}
    return builder.apply("attention", operands, attributes, name=node.name, output=node.output)


def _pays(scores: tuple[int, ...], dtype: str) -> bool:
    """Whether there are heads, and a block of scores that fits a cache."""
    *heads, queries, keys = scores
    in_float32 = DATA_TYPES[dtype].accumulator == "float32"
    return bool(heads) and in_float32 and queries >= _FEWEST_QUERIES and keys <= _MOST_KEYS


def _inner(name: str, network: Network, builder: NetworkBuilder) -> Node | None:
    """The node that makes a tensor, where nothing but one operand is that tensor."""
    return builder.producer(name) if network.readers.get(name) == 1 else None


def _summand(name: str, network: Network, builder: NetworkBuilder) -> tuple[str, str] | None:
    """(scores, mask) of a sum: the scores have its shape and are an inner tensor, scaled or not."""
    made = _inner(name, network, builder)
    if made is None or made.operator != "add":
        return None
    for scores, mask in (made.inputs, made.inputs[::-1]):
        own, _ = _without_factors(scores, network, builder)
        product = _inner(own, network, builder)
        if product is not None and product.operator == "matmul":
            whole, part = builder.specs[scores].shape, builder.specs[mask].shape
            fits = whole == builder.specs[name].shape and len(whole) == len(part)
            return (scores, mask) if fits else None
    return None


def _chosen(name: str, network: Network, builder: NetworkBuilder) -> tuple[str, str] | None:
    """(which keys, scores) of scores that are -inf for all other keys."""
    made = _inner(name, network, builder)
    if made is None or made.operator != "where":
        return None
    given, scores, other = made.inputs
    *around, keys = builder.specs[name].shape
    least = builder.constants.get(other)
    is_least = least is not None and bool(np.all(np.isneginf(least)))
    fits = builder.specs[scores].shape == builder.specs[name].shape
    if not (is_least and fits and builder.specs[given].shape == (*[1] * len(around), keys)):
        return None
    return given, scores


def _without_others(given: str, keys: str, mask: str, builder: NetworkBuilder) -> tuple[str, str]:
    """(keys, mask) with zeros for others, so that no score of theirs is NaN, and -inf."""
    *around, count = builder.specs[given].shape
    turned = builder.apply("reshape", [given], {"shape": [*around[1:], count, 1]})
    dtype = builder.specs[keys].dtype
    zero, least = (
        builder.constant(np.full([1, *around], value, numpy_type(dtype)), "beyond")
        for value in (0.0, -np.inf)
    )
    keys = builder.apply("where", [turned, keys, zero])
    return keys, builder.apply("where", [given, mask, least])


def _constants(name: str, network: Network, builder: NetworkBuilder) -> tuple[str, str] | None:
    """(scores, mask) of several constants that are added to scores, some to another view of them.

    So does a transformer of shifted windows: to its heads a bias of places, to its windows a mask.
    """
    shape, summands = builder.specs[name].shape, []
    while made := _inner(name, network, builder):
        constant = next((one for one in made.inputs if one in builder.constants), None)
        others = [one for one in made.inputs if one != constant]
        if made.operator == "add" and constant is not None and others:
            seen = np.broadcast_to(builder.constants[constant], builder.specs[name].shape)
            summands.append(seen.reshape(shape))
            (name,) = others
        elif builder.operators[made.operator].view:
            (name,) = made.inputs
        else:
            break
    if not summands or builder.specs[name].shape != shape:
        return None
    mask = np.sum(summands, axis=0, dtype=summands[0].dtype)
    for axis in range(mask.ndim):  # what is the same all along an axis is kept once
        first = mask.take([0], axis)
        mask = first if (mask == first).all() else mask
    return name, builder.constant(mask, "masks")


def _without_factors(
    name: str, network: Network | None, builder: NetworkBuilder
) -> tuple[str, float]:
    """What a tensor is constant multiples of, and of how much; of inner tensors of a network."""
    scale = 1.0
    while made := _inner(name, network, builder) if network else builder.producer(name):
        if made.operator not in ("multiply", "divide"):
            break
        operands = made.inputs
        if made.operator == "multiply" and operands[0] in builder.constants:
            operands = operands[::-1]
        data, factor = operands[0], builder.constants.get(operands[1])
        if factor is None or factor.size != 1:
            break
        if builder.specs[data].shape != builder.specs[name].shape:
            break
        number = float(factor.reshape(()))
        if made.operator == "divide" and not number:
            break
        scale *= number if made.operator == "multiply" else 1.0 / number
        name = data
    return name, scale


def _turned(name: str, builder: NetworkBuilder) -> str:
    """A tensor with its last two axes exchanged, without moving it twice."""
    rank = len(builder.specs[name].shape)
    axes = [*range(rank - 2), rank - 1, rank - 2]
    made = builder.producer(name)
    if made is not None and made.operator == "transpose":
        before = made.attributes["axes"] or range(rank)[::-1]
        axes, name = [before[axis] for axis in axes], made.inputs[0]
    return builder.apply("transpose", [name], {"axes": axes})
