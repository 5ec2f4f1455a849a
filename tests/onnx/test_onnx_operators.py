"""Every reading function against ONNX Runtime, on odd sizes, in the opsets where meanings changed."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from tilewright_onnx.model.writer import WRITERS
from tilewright_tensor.operators.operators import builtin_operators

RNG = np.random.default_rng(2)


def array(*shape: int, low: float = -1.0) -> np.ndarray:
    return RNG.uniform(low, 1.0, shape).astype(np.float32)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def one(kind: str, shapes, constants=None, opset: int = 13, outputs=("y",), **attributes):
    """A model of one node; its operands are the inputs a, b, ..., then the constants in order."""
    inputs = dict(zip("abcdef", shapes, strict=False))
    names = [*inputs, *(constants or {})]
    node = helper.make_node(kind, names, list(outputs), name="node", **attributes)
    return [node], inputs, constants or {}, opset, outputs


def two(first: str, second: str):
    """A model of two nodes of one operand, so that the second sees positive numbers only."""
    nodes = [helper.make_node(first, ["a"], ["b"]), helper.make_node(second, ["b"], ["y"])]
    return nodes, {"a": (2, 3)}, {}, 13, ("y",)


def top(shape, count, opset: int = 13, values="y", **attributes):
    """The most extreme elements, and their places as floats."""
    constants = {"k": ints(count)} if opset > 9 else {}
    attributes |= {} if constants else {"k": count}
    nodes = [
        helper.make_node("TopK", ["a", *constants], [values or "unread", "i"], **attributes),
        helper.make_node("Cast", ["i"], ["places"], to=TensorProto.FLOAT),
    ]
    return nodes, {"a": shape}, constants, opset, tuple(filter(None, (values, "places")))


CASES = {
    "conv": one("Conv", [(1, 3, 7, 5)], {"w": array(4, 3, 3, 3)}),
    "conv bias pads strides": one(
        "Conv",
        [(2, 3, 9, 7)],
        {"w": array(5, 3, 3, 2), "bias": array(5)},
        pads=[1, 0, 2, 1],
        strides=[2, 3],
    ),
    "conv dilated": one("Conv", [(1, 2, 9, 9)], {"w": array(3, 2, 3, 3)}, dilations=[2, 3]),
    "conv grouped": one("Conv", [(1, 6, 5, 5)], {"w": array(4, 3, 3, 3)}, group=2),
    "conv depthwise": one(
        "Conv", [(1, 5, 5, 5)], {"w": array(5, 1, 3, 3), "b1": array(5)}, group=5
    ),
    "conv same upper": one(
        "Conv", [(1, 2, 8, 7)], {"w": array(3, 2, 4, 3)}, auto_pad="SAME_UPPER", strides=[2, 2]
    ),
    "conv same lower": one(
        "Conv", [(1, 2, 8, 7)], {"w": array(3, 2, 4, 3)}, auto_pad="SAME_LOWER", strides=[3, 2]
    ),
    "conv valid": one("Conv", [(1, 2, 8, 7)], {"w": array(3, 2, 4, 3)}, auto_pad="VALID"),
    "conv of three axes": one(
        "Conv",
        [(1, 2, 5, 6, 7)],
        {"w": array(4, 2, 2, 3, 3), "b1": array(4)},
        pads=[1, 0, 1, 0, 1, 2],
        strides=[1, 2, 1],
    ),
    "conv transposed": one("ConvTranspose", [(1, 3, 5, 4)], {"w": array(3, 4, 3, 3)}),
    "conv transposed with strides": one(
        "ConvTranspose",
        [(2, 3, 5, 4)],
        {"w": array(3, 4, 4, 3), "b1": array(4)},
        strides=[2, 3],
        pads=[1, 0, 1, 2],
        output_padding=[1, 2],
    ),
    "conv transposed grouped": one(
        "ConvTranspose", [(1, 6, 5, 4)], {"w": array(6, 2, 3, 2)}, group=3, strides=[2, 2]
    ),
    "conv transposed dilated": one(
        "ConvTranspose", [(1, 2, 5, 4)], {"w": array(2, 3, 3, 3)}, dilations=[2, 1], strides=[3, 1]
    ),
    "conv transposed of small kernels": one(
        "ConvTranspose", [(1, 2, 4, 5)], {"w": array(2, 3, 1, 2)}, strides=[3, 3]
    ),
    "conv transposed with all cut off": one(
        "ConvTranspose", [(1, 2, 6, 6)], {"w": array(2, 3, 2, 2)}, strides=[2, 2], pads=[4, 0, 3, 5]
    ),
    "conv transposed same": one(
        "ConvTranspose",
        [(1, 2, 5, 4)],
        {"w": array(2, 3, 4, 3)},
        auto_pad="SAME_UPPER",
        strides=[2, 2],
    ),
    "conv transposed to a shape": one(
        "ConvTranspose",
        [(1, 2, 5, 4)],
        {"w": array(2, 3, 3, 3)},
        output_shape=[10, 9],
        strides=[2, 2],
    ),
    "conv transposed of one axis": one(
        "ConvTranspose",
        [(1, 3, 7)],
        {"w": array(3, 2, 4), "b1": array(2)},
        strides=[2],
        pads=[1, 1],
    ),
    "conv transposed of three axes": one(
        "ConvTranspose", [(1, 2, 3, 4, 2)], {"w": array(2, 3, 2, 3, 2)}, strides=[2, 1, 2]
    ),
    "conv of one axis": one(
        "Conv", [(1, 3, 11)], {"w": array(4, 3, 3), "b1": array(4)}, pads=[1, 1]
    ),
    "gemm": one("Gemm", [(3, 5)], {"w": array(5, 7), "bias": array(7)}),
    "gemm transposed": one(
        "Gemm", [(5, 3)], {"w": array(7, 5), "bias": array(3, 1)}, transA=1, transB=1
    ),
    "gemm scaled": one(
        "Gemm", [(3, 5)], {"w": array(5, 7), "bias": array(1, 7)}, alpha=0.5, beta=2.0
    ),
    "gemm without bias": one("Gemm", [(3, 5)], {"w": array(5, 7)}, alpha=0.5),
    "gemm of two inputs": one("Gemm", [(3, 5), (7, 5)], transB=1),
    "matmul with weights": one("MatMul", [(3, 5)], {"w": array(5, 7)}),
    "matmul with a row": one("MatMul", [(5,), (2, 5, 4)]),
    "matmul with a column": one("MatMul", [(2, 3, 5), (5,)]),
    "matmul with known weights of one output": one("MatMul", [(3, 5)], {"w": array(5)}),
    "matmul of vectors": one("MatMul", [(5,), (5,)]),
    "matmul batched": one("MatMul", [(2, 3, 5), (2, 5, 4)]),
    "batch norm": one(
        "BatchNormalization",
        [(2, 3, 4, 5)],
        {"s": array(3), "b1": array(3), "m": array(3), "v": array(3, low=0.2)},
        epsilon=1e-3,
    ),
    "batch norm of opset 9": one(
        "BatchNormalization",
        [(2, 3, 4)],
        {"s": array(3), "b1": array(3), "m": array(3), "v": array(3, low=0.2)},
        opset=9,
    ),
    "layer norm": one(
        "LayerNormalization", [(2, 3, 7)], {"s": array(7), "b1": array(7)}, opset=17, epsilon=1e-3
    ),
    "layer norm without shift": one("LayerNormalization", [(3, 5)], {"s": array(5)}, opset=17),
    "layer norm over two axes": one(
        "LayerNormalization", [(2, 3, 5)], {"s": array(3, 5), "b1": array(3, 5)}, opset=17, axis=1
    ),
    "group norm": one(
        "GroupNormalization",
        [(2, 6, 3, 5)],
        {"s": array(6), "b1": array(6)},
        opset=21,
        num_groups=3,
    ),
    "rms norm": one("RMSNormalization", [(2, 3, 5)], {"s": array(5)}, opset=23),
    "mean and variance": one("MeanVarianceNormalization", [(2, 3, 4, 5)]),
    "instance norm": one(
        "InstanceNormalization", [(2, 3, 5, 7)], {"s": array(3), "b1": array(3)}, epsilon=1e-3
    ),
    "relu": one("Relu", [(2, 3)]),
    "sigmoid": one("Sigmoid", [(2, 3)]),
    "elu": one("Elu", [(2, 7)], alpha=0.7),
    "softplus": one("Softplus", [(2, 7)]),
    "reciprocal": two("Exp", "Reciprocal"),
    "tanh": one("Tanh", [(2, 3)]),
    "leaky relu": one("LeakyRelu", [(2, 3)], alpha=0.3),
    "hard sigmoid": one("HardSigmoid", [(2, 3)], alpha=0.3),
    "hard swish": one("HardSwish", [(2, 7)], opset=14),
    "clip of opset 9": one("Clip", [(2, 7)], opset=9, min=-0.5, max=0.6),
    "clip from below": one("Clip", [(2, 7)], {"low": np.float32(-0.5)}),
    "clip from both sides": one("Clip", [(2, 7)], {"low": np.float32(-0.5), "high": np.float32(1)}),
    "max pool": one(
        "MaxPool", [(1, 3, 9, 7)], kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1]
    ),
    "max pool ceil": one(
        "MaxPool", [(1, 2, 8, 7)], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1
    ),
    "max pool same": one(
        "MaxPool", [(1, 2, 8, 7)], kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER"
    ),
    "max pool of one axis": one("MaxPool", [(1, 3, 9)], kernel_shape=[3], strides=[2], pads=[1, 0]),
    "max pool of three axes": one(
        "MaxPool",
        [(2, 3, 5, 7, 6)],
        kernel_shape=[2, 3, 2],
        strides=[2, 2, 1],
        pads=[1, 0, 1, 0, 2, 0],
        ceil_mode=1,
    ),
    "average pool of one axis": one("AveragePool", [(1, 3, 9)], kernel_shape=[3], pads=[1, 1]),
    "average pool of three axes": one(
        "AveragePool", [(1, 2, 5, 6, 7)], kernel_shape=[3, 2, 3], strides=[2, 1, 2], pads=[1] * 6
    ),
    "average pool of three axes with pad": one(
        "AveragePool",
        [(1, 2, 5, 6, 7)],
        kernel_shape=[3, 2, 3],
        strides=[2, 1, 2],
        pads=[1, 0, 1, 0, 1, 2],
        count_include_pad=1,
    ),
    "global average pool of one axis": one("GlobalAveragePool", [(2, 3, 5)]),
    "global average pool of three axes": one("GlobalAveragePool", [(2, 3, 5, 2, 3)]),
    "average pool": one(
        "AveragePool", [(1, 2, 8, 7)], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 0, 1]
    ),
    "average pool with pad": one(
        "AveragePool", [(1, 2, 8, 7)], kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1
    ),
    "average pool ceil": one(
        "AveragePool", [(1, 2, 8, 7)], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1
    ),
    "global average pool": one("GlobalAveragePool", [(1, 3, 5, 7)]),
    "global max pool": one("GlobalMaxPool", [(2, 3, 5, 7)]),
    "lrn": one("LRN", [(1, 7, 3, 3)], size=5, alpha=0.3, beta=0.7, bias=1.5),
    "exp": one("Exp", [(2, 3)]),
    "root": two("Abs", "Sqrt"),
    "logarithm": two("Exp", "Log"),
    "absolute": one("Abs", [(2, 3)]),
    "negated": one("Neg", [(2, 3)]),
    "erf": one("Erf", [(2, 3)]),
    "gelu": one("Gelu", [(2, 3)], opset=20),
    "gelu by tanh": one("Gelu", [(2, 3)], opset=20, approximate="tanh"),
    "selu": one("Selu", [(2, 7)], opset=11),
    "celu": one("Celu", [(2, 7)], alpha=0.7),
    "mish": one("Mish", [(2, 7)], opset=18),
    "softsign": one("Softsign", [(2, 7)], opset=9),
    "thresholded relu": one("ThresholdedRelu", [(2, 7)], alpha=0.5),
    "shrink": one("Shrink", [(2, 7)], lambd=0.4, bias=0.1),
    "sine": one("Sin", [(2, 7)]),
    "cosine": one("Cos", [(2, 7)]),
    "floor": one("Floor", [(2, 7)]),
    "ceiling": one("Ceil", [(2, 7)]),
    "round": one("Round", [(2, 7)]),
    "sign": one("Sign", [(2, 7)]),
    "prelu": one("PRelu", [(2, 3, 4)], {"slope": array(3, 1)}),
    "power": one("Pow", [(2, 3)], {"c": np.float32(2)}),
    "square": one("Pow", [(2, 3)], {"c": ints(2)}),
    "cube": one("Pow", [(2, 3)], {"c": np.float32([3])}),
    "square of more axes": one("Pow", [(3,)], {"c": np.float32([[2]])}),
    "powers": one("Pow", [(2, 3)], {"c": ints(1, 2, 4)}),
    "largest of three": one("Max", [(2, 3), (3,), (2, 1)]),
    "smallest of two": one("Min", [(2, 3), (3,)]),
    "sum over some axes": one("ReduceSum", [(2, 3, 4)], {"axes": ints(0, -1)}),
    "mean over all axes": one("ReduceMean", [(2, 3, 4)]),
    "mean over an axis of opset 13": one("ReduceMean", [(2, 3, 4)], axes=[1], keepdims=0),
    "mean over an axis": one("ReduceMean", [(2, 3, 4)], {"axes": ints(1)}, opset=18, keepdims=0),
    "largest over an axis": one("ReduceMax", [(2, 3, 4)], axes=[-1]),
    "reduced over nothing": one("ReduceSum", [(2, 3)], noop_with_empty_axes=1),
    "reduced over an empty list": one(
        "ReduceSum", [(2, 3)], {"axes": ints()}, noop_with_empty_axes=1
    ),
    "reduced over all by an empty list": one("ReduceSum", [(2, 3)], {"axes": ints()}),
    "product over an axis": one("ReduceProd", [(2, 3, 4)], axes=[1]),
    "sum of sizes": one("ReduceL1", [(2, 3, 4)], axes=[1], keepdims=0),
    "length": one("ReduceL2", [(2, 3, 4)], {"axes": ints(-1)}, opset=18),
    "sum of squares": one("ReduceSumSquare", [(2, 3, 4)], axes=[0, 2]),
    "logarithm of a sum": (
        [
            helper.make_node("Exp", ["a"], ["b"]),
            helper.make_node("ReduceLogSum", ["b"], ["y"], axes=[1]),
        ],
        {"a": (2, 3)},
        {},
        13,
        ("y",),
    ),
    "logarithm of a sum of powers": one("ReduceLogSumExp", [(2, 3, 4)], axes=[-1, 0], keepdims=0),
    **{
        f"{name} over no axes": one(name, [(2, 3)], opset=18, noop_with_empty_axes=1)
        for name in ("ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMean")
    },
    "logarithm of a sum of all powers": one("ReduceLogSumExp", [(2, 3)], opset=18),
    "smallest over an axis": one("ReduceMin", [(2, 3, 5)], axes=[-2], keepdims=0),
    "sum so far": one("CumSum", [(2, 5, 3)], {"axis": np.array(1)}),
    "sum of what is to come": one("CumSum", [(2, 5)], {"axis": ints(-1)}, exclusive=1, reverse=1),
    "einsum": one("Einsum", [(2, 3, 5, 4), (2, 7, 5, 4)], equation="bihd, bjhd -> bhij"),
    "einsum that sums over no axis": one("Einsum", [(3,), (5,)], equation="i,j->ji"),
    "einsum over several axes": one("Einsum", [(2, 3, 4), (4, 3, 5)], equation="abc,cbd"),
    "upper triangle": one("Trilu", [(2, 4, 5)], {"k": np.array(1)}, opset=14),
    "lower triangle": one("Trilu", [(4, 3)], opset=14, upper=0),
    "add": one("Add", [(2, 3), (2, 3)]),
    "add a row": one("Add", [(2, 3, 4)], {"c": array(4)}),
    "add to a row": one("Add", [(4,), (2, 3, 4)]),
    "subtract from a scalar": one("Sub", [(), (2, 3)]),
    "multiply channels": one("Mul", [(1, 3, 4, 4)], {"c": array(3, 1, 1)}),
    "divide": one("Div", [(2, 3)], {"c": array(2, 1, low=0.5)}),
    "sum of one": one("Sum", [(2, 3)]),
    "sum of three": one("Sum", [(2, 3), (3,), (2, 1)]),
    "mean of one": one("Mean", [(2, 3)]),
    "mean of three": one("Mean", [(2, 3), (3,), (2, 1)]),
    "split of opset 11": one(
        "Split", [(2, 7)], opset=11, outputs=("y", "z"), axis=-1, split=[2, 5]
    ),
    "split": one("Split", [(7, 3)], {"s": ints(3, 1, 3)}, outputs=("y", "mask", "z")),
    "split in halves": one("Split", [(2, 6, 3)], outputs=("y", "z"), axis=1),
    "split unevenly": one(
        "Split", [(2, 7)], opset=18, outputs=("y", "z", "w"), axis=1, num_outputs=3
    ),
    "concat": one("Concat", [(1, 2, 3), (1, 4, 3), (1, 1, 3)], axis=1),
    "concat from the end": one("Concat", [(1, 2, 3), (1, 2, 5)], axis=-1),
    "reshape": one("Reshape", [(2, 3, 4)], {"s": ints(0, -1)}),
    "reshape to scalars": one("Reshape", [(1, 4)], {"s": ints(4, 1, 1)}),
    "flatten": one("Flatten", [(2, 3, 4)]),
    "flatten at the end": one("Flatten", [(2, 3, 4)], axis=-1),
    "flatten all": one("Flatten", [(2, 3, 4)], axis=0),
    "slice of opset 9": one("Slice", [(5, 7)], opset=9, starts=[1], ends=[-1], axes=[1]),
    "slice": one("Slice", [(5, 7)], {"b": ints(-9, 1), "e": ints(4, 99)}),
    "slice with steps": one(
        "Slice", [(5, 7)], {"b": ints(1), "e": ints(6), "ax": ints(-1), "st": ints(2)}
    ),
    "slice backwards": one(
        "Slice",
        [(5, 7)],
        {"b": ints(-1, 5), "e": ints(-99, 1), "ax": ints(0, 1), "st": ints(-1, -2)},
    ),
    "gather one": one("Gather", [(3, 4, 5)], {"i": np.array(-1)}, axis=1),
    "gather some": one("Gather", [(7, 3)], {"i": np.array([[0, 1, 2], [6, -1, 3]])}),
    "gather backwards": one("Gather", [(7, 3)], {"i": ints(6, 4, 2, 0)}),
    "gather the same": one("Gather", [(7, 3)], {"i": ints(2, 2, 2)}),
    "gather with steps": one("Gather", [(2, 7)], {"i": ints(1, 3, 5)}, axis=-1),
    "expand": one("Expand", [(3, 1)], {"s": ints(2, 1, 4)}),
    "tile": one("Tile", [(2, 3)], {"r": ints(3, 2)}),
    "depth to space": one("DepthToSpace", [(2, 12, 3, 5)], blocksize=2),
    "depth to space by columns": one("DepthToSpace", [(1, 18, 3, 2)], blocksize=3, mode="CRD"),
    "space to depth": one("SpaceToDepth", [(2, 3, 4, 6)], blocksize=2),
    "cast": one("Cast", [(2, 3)], to=TensorProto.FLOAT),
    "transpose": one("Transpose", [(2, 3, 4)], perm=[2, 0, 1]),
    "transpose reversed": one("Transpose", [(2, 3, 4)]),
    "squeeze of opset 11": one("Squeeze", [(1, 3, 1)], opset=11, axes=[-1]),
    "squeeze": one("Squeeze", [(1, 3, 1)], {"axes": ints(0)}),
    "squeeze all": one("Squeeze", [(1, 3, 1)]),
    "unsqueeze of opset 11": one("Unsqueeze", [(3, 2)], opset=11, axes=[0, 3]),
    "unsqueeze": one("Unsqueeze", [(3, 2)], {"axes": ints(-1, 1)}),
    "softmax of opset 9": one("Softmax", [(2, 3, 4)], opset=9),
    "softmax of opset 12 on a late axis": one("Softmax", [(2, 3, 4)], opset=12, axis=2),
    "softmax of opset 9 on an image of one pixel": one("Softmax", [(1, 5, 1, 1)], opset=9),
    "softmax": one("Softmax", [(2, 3, 4)]),
    "softmax over channels": one("Softmax", [(2, 3, 4)], axis=1),
    "log softmax": one("LogSoftmax", [(2, 3, 4)], axis=1),
    "log softmax of opset 9": one("LogSoftmax", [(2, 3, 4)], opset=9),
    "dropout of opset 9": one("Dropout", [(2, 3)], opset=9, outputs=("y", "mask"), ratio=0.7),
    "dropout": one("Dropout", [(2, 3)], outputs=("y", "mask")),
    "identity": one("Identity", [(2, 3)]),
    "pad of opset 9": one("Pad", [(2, 3)], opset=9, pads=[1, 0, 2, 3], value=0.5),
    "pad": one("Pad", [(2, 3)], {"p": ints(1, 0, 2, 3), "v": np.float32(0.5)}),
    "pad by reflection": one("Pad", [(4, 5)], {"p": ints(1, 3, 2, 0)}, mode="reflect"),
    "pad by more than there is": one("Pad", [(3, 4)], {"p": ints(2, 3, 2, 1)}, mode="reflect"),
    "pad by the edge": one("Pad", [(2, 3)], {"p": ints(0, 2, 2, 1)}, mode="edge"),
    "pad by wrapping": one("Pad", [(3, 4)], {"p": ints(1, 2, 2, 0)}, opset=19, mode="wrap"),
    "pad by minus infinity": one(
        "Pad", [(2, 3)], {"p": ints(1, 0, 2, 3), "v": np.float32(-np.inf)}
    ),
    "pad by minus infinity, cut before": one(
        "Pad", [(2, 3)], {"p": ints(0, -1, 0, 1), "v": np.float32(-np.inf)}
    ),
    "gather elements": one(
        "GatherElements", [(3, 4)], {"i": np.array([[0, -1, 2, 1], [2, 2, 0, -3]])}, axis=0
    ),
    "gather along two axes": one("GatherND", [(3, 4, 5)], {"i": np.array([[[0, -1]], [[2, 1]]])}),
    "gather along an axis of each of a batch": one(
        "GatherND", [(2, 3, 4, 5)], {"i": np.array([[[0], [-1]], [[1], [2]]])}, batch_dims=1
    ),
    "gather along two axes of each of a batch": one(
        "GatherND",
        [(2, 3, 4, 5, 2)],
        {"i": np.random.default_rng(7).integers(-4, 4, (2, 3, 7, 2))},
        batch_dims=2,
    ),
    "the largest and their places": top((3, 7, 2), 3, axis=1),
    "the smallest": top((4, 13), 13, largest=0),
    "places of the largest alone": top((97,), 1, values=""),
    "the largest of opset 9": top((2, 5), 2, opset=9),
    "hardmax": one("Hardmax", [(2, 3, 4)], axis=1),
    "hardmax of opset 9": one("Hardmax", [(2, 3, 4)], opset=9),
    "lines of length 1": one("LpNormalization", [(3, 5)], axis=0),
    "lines of sum 1": one("LpNormalization", [(3, 5)], p=1),
    "layer norm with its moments": one(
        "LayerNormalization",
        [(2, 3, 7)],
        {"s": array(7)},
        opset=17,
        outputs=("y", "mean", "inverse"),
    ),
    **{
        f"quantised by {how}, and back": (
            [
                helper.make_node("QuantizeLinear", ["a", "s", "z"], ["q"], axis=1),
                helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], axis=1),
            ],
            {"a": (4, 3, 5)},
            {"s": scale, "z": zero},
            13,
            ("y",),
        )
        for how, scale, zero in (
            ("tensor", np.float32(0.01), np.uint8(100)),
            ("channel", np.float32([0.01, 0.1, 0.003]), np.int8([0, -100, 50])),
        )
    },
    "quantised by tensor, with an axis that is not there": (
        [
            helper.make_node("QuantizeLinear", ["a", "s", "z"], ["q"], axis=3),
            helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], axis=-4),
        ],
        {"a": (4, 3, 5)},
        {"s": np.float32([0.01]), "z": np.uint8([100])},
        13,
        ("y",),
    ),
    "pad less than nothing": one("Pad", [(4, 5)], {"p": ints(-1, 2, 1, -2), "v": np.float32(3)}),
    "pad some axes": one(
        "Pad", [(2, 3, 4)], {"p": ints(1, 2), "v": np.float32(0), "ax": ints(-1)}, opset=18
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_read_computes_what_onnx_runtime_does(case, assert_agrees, make_model):
    nodes, inputs, constants, opset, outputs = CASES[case]
    named = [output for output in outputs if output != "mask"]
    assert_agrees(make_model(nodes, inputs, constants, outputs=named, opset=opset))


def test_every_operator_can_be_written():
    assert set(builtin_operators()) - set(WRITERS) == {"layout_transform"}
