"""Models whose dimensions have ranges, made with seeded weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper  # noqa: TID253  made of it

from tilewright_graph.ranges.dimensions import Sizes


@dataclass(frozen=True)
class Case:
    """A model, the ranges of its dimensions, and the sizes that are looked at."""

    model: ModelProto
    ranges: dict[str, str]
    sizes: tuple[Sizes, ...]


def _mlp() -> Case:
    nodes, weights = _layers("x", (784, 128, 64, 10))
    sizes = (1, 2, 3, 5, 6, 9, 11, 17, 23, 27, 32)
    return Case(
        _model(nodes, weights, ("batch", 784)), {"batch": "1..32"}, tuple((n,) for n in sizes)
    )


def _tokens() -> Case:
    nodes, weights = _layers("x", (64, 128, 64))
    model = _model(nodes, weights, ("batch", "sequence", 64))
    return Case(
        model, {"batch": "1..8", "sequence": "9..32"}, tuple(product((1, 3, 7), (9, 21, 30)))
    )


def _convolutions() -> Case:
    """Ten of 3x3, halved twice."""
    nodes, weights, last, channels = [], {}, "x", 3
    for index in range(10):
        wider = 32 << index // 4
        weights[f"w{index}"] = _array(wider, channels, 3, 3)
        stride = 2 if index in (4, 8) else 1
        told = {"pads": [1, 1, 1, 1], "strides": [stride, stride]}
        nodes.append(helper.make_node("Conv", [last, f"w{index}"], [f"c{index}"], **told))
        nodes.append(helper.make_node("Relu", [f"c{index}"], [f"r{index}"]))
        last, channels = f"r{index}", wider
    nodes.append(helper.make_node("GlobalAveragePool", [last], ["y"]))
    model = _model(nodes, weights, ("batch", 3, 32, 32))
    return Case(model, {"batch": "1..8"}, tuple((n,) for n in range(1, 9)))


def _encoder() -> Case:
    """Two layers, 256 wide, with four heads, no mask."""
    wide, heads = 256, 4
    weights: dict[str, Any] = {
        "split": np.array([0, 0, heads, wide // heads]),
        "join": np.array([0, 0, wide]),
        "root": np.float32((wide // heads) ** 0.5),
        "ones": np.ones(wide, np.float32),
    }
    nodes, last = [], "x"
    for layer in range(2):
        for part, order in (("q", (0, 2, 1, 3)), ("k", (0, 2, 3, 1)), ("v", (0, 2, 1, 3))):
            weights[f"{part}w{layer}"] = _array(wide, wide)
            at = f"{part}{layer}"
            nodes += [
                helper.make_node("MatMul", [last, f"{part}w{layer}"], [f"{at}a"]),
                helper.make_node("Reshape", [f"{at}a", "split"], [f"{at}b"]),
                helper.make_node("Transpose", [f"{at}b"], [at], perm=order),
            ]
        weights[f"ow{layer}"] = _array(wide, wide)
        more, more_weights = _layers(f"n{layer}", (wide, 4 * wide, wide), f"f{layer}")
        weights |= more_weights
        nodes += [
            helper.make_node("MatMul", [f"q{layer}", f"k{layer}"], [f"s{layer}"]),
            helper.make_node("Div", [f"s{layer}", "root"], [f"d{layer}"]),
            helper.make_node("Softmax", [f"d{layer}"], [f"p{layer}"], axis=-1),
            helper.make_node("MatMul", [f"p{layer}", f"v{layer}"], [f"h{layer}"]),
            helper.make_node("Transpose", [f"h{layer}"], [f"t{layer}"], perm=(0, 2, 1, 3)),
            helper.make_node("Reshape", [f"t{layer}", "join"], [f"j{layer}"]),
            helper.make_node("MatMul", [f"j{layer}", f"ow{layer}"], [f"o{layer}"]),
            helper.make_node("Add", [f"o{layer}", last], [f"a{layer}"]),
            helper.make_node("LayerNormalization", [f"a{layer}", "ones"], [f"n{layer}"]),
            *more,
            helper.make_node("Add", [more[-1].output[0], f"n{layer}"], [f"e{layer}"]),
            helper.make_node("LayerNormalization", [f"e{layer}", "ones"], [f"z{layer}"]),
        ]
        last = f"z{layer}"
    nodes[-1].output[0] = "y"
    sizes = (1, 2, 3, 5, 9, 17, 27, 33, 50, 65, 81, 100, 128)
    model = _model(nodes, weights, (1, "sequence", wide))
    return Case(model, {"sequence": "1..128"}, tuple((n,) for n in sizes))


def _layers(
    last: str, widths: tuple[int, ...], name: str = "l"
) -> tuple[list[NodeProto], dict[str, Any]]:
    """Products, with ReLU between them."""
    nodes, weights = [], {}
    for index, wide in enumerate(widths[1:]):
        weight, product_, active = f"{name}w{index}", f"{name}p{index}", f"{name}r{index}"
        weights[weight] = _array(widths[index], wide)
        nodes.append(helper.make_node("MatMul", [last, weight], [product_]))
        last = product_
        if index + 2 < len(widths):
            nodes.append(helper.make_node("Relu", [last], [active]))
            last = active
    return nodes, weights


def _array(*shape: int) -> Any:
    rng = np.random.default_rng(sum(shape))
    return (rng.standard_normal(shape) * (np.prod(shape[1:]) + shape[0]) ** -0.5).astype(np.float32)


def _model(
    nodes: list[NodeProto], weights: dict[str, Any], shape: tuple[str | int, ...]
) -> ModelProto:
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    result = helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, None)
    arrays = [numpy_helper.from_array(np.asarray(a), name) for name, a in weights.items()]
    graph = helper.make_graph(nodes, "ranges", [given], [result], arrays)
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


CASES: dict[str, Callable[[], Case]] = {
    "mlp": _mlp,
    "convolutions": _convolutions,
    "encoder": _encoder,
    "tokens": _tokens,
}
