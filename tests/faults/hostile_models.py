"""ONNX models that nobody means well with, by what is wrong with them; all are small."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

HUGE = 2**62
node = helper.make_node


def model(
    nodes: Any, constants: Any = (), *, shape: Any = (1, 4, 8, 8), functions: Any = ()
) -> Any:
    """A model that makes `y` of the input `x`."""
    graph = helper.make_graph(
        list(nodes),
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [
            array if isinstance(array, TensorProto) else numpy_helper.from_array(array, name)
            for name, array in dict(constants).items()
        ],
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=9)


def one(
    kind: str, *operands: str, constants: Any = (), shape: Any = (1, 4, 8, 8), **more: Any
) -> Any:
    return model([node(kind, ["x", *operands], ["y"], name="bad", **more)], constants, shape=shape)


def whole(*numbers: int) -> Any:
    return np.array(numbers, np.int64)


WEIGHT = {"w": np.ones((4, 4, 3, 3), np.float32)}


def layers() -> Iterator[tuple[str, Any]]:
    """Attributes of layers: zero, negative, huge, too few, too many, missing, of another type."""
    for name in ("strides", "dilations", "kernel_shape"):
        for values in ([0, 0], [-1, -1], [HUGE, HUGE], [1], [1, 1, 1]):
            yield f"Conv {name} {values}", one("Conv", "w", constants=WEIGHT, **{name: values})
            given = {"kernel_shape": [2, 2], name: values}
            yield f"MaxPool {name} {values}", one("MaxPool", **given)
            yield f"AveragePool {name} {values}", one("AveragePool", **given)
    for pads in ([HUGE] * 4, [2**31] * 4, [1], [-9] * 4):
        yield f"Conv pads {pads}", one("Conv", "w", constants=WEIGHT, pads=pads)
    for group in (0, -1, 3, HUGE):
        yield f"Conv group {group}", one("Conv", "w", constants=WEIGHT, group=group)
        yield (
            f"ConvTranspose group {group}",
            one("ConvTranspose", "w", constants=WEIGHT, group=group),
        )
    for size in (0, -2, 3, 2**32, HUGE):
        yield f"DepthToSpace {size}", one("DepthToSpace", blocksize=size)
        yield f"SpaceToDepth {size}", one("SpaceToDepth", blocksize=size)
    yield "LRN of nothing", one("LRN", size=0)
    yield "LRN without size", one("LRN")
    yield "MaxPool without kernel", one("MaxPool")
    yield "auto_pad", one("Conv", "w", constants=WEIGHT, auto_pad="SOMEHOW")
    yield "strides as text", one("Conv", "w", constants=WEIGHT, strides="2")
    yield "Conv alone", one("Conv")
    yield "Conv of too many", one("Conv", "w", "w", "w", constants=WEIGHT)
    yield "Conv of other channels", one("Conv", "w", constants=WEIGHT, shape=(1, 3, 8, 8))


def axes() -> Iterator[tuple[str, Any]]:
    """Axes repeated or beyond the rank."""
    zero, two = whole(0), whole(2)
    for axis in (9, -9, HUGE, -(2**63)):
        sliced = {"b": zero, "e": two, "a": whole(axis)}
        yield f"Slice {axis}", one("Slice", "b", "e", "a", constants=sliced)
        for kind in ("ReduceSum", "Squeeze", "Unsqueeze", "CumSum"):
            yield f"{kind} {axis}", one(kind, "a", constants={"a": whole(axis)})
        for kind in ("Softmax", "LogSoftmax", "ArgMax", "Flatten", "Split", "ReduceMax"):
            named = {"axes": [axis]} if kind == "ReduceMax" else {"axis": axis}
            yield f"{kind} {axis}", one(kind, **named)
        yield f"Concat {axis}", one("Concat", "x", axis=axis)
        yield f"Gather {axis}", one("Gather", "i", constants={"i": zero}, axis=axis)
        pads = {"p": whole(1, 1), "v": np.float32(0), "a": whole(axis)}
        yield f"Pad {axis}", one("Pad", "p", "v", "a", constants=pads)
        scale = {"s": np.ones(8, np.float32)}
        yield (
            f"LayerNormalization {axis}",
            one("LayerNormalization", "s", constants=scale, axis=axis),
        )
    for kind in ("ReduceSum", "Squeeze", "Unsqueeze"):
        yield f"{kind} twice", one(kind, "a", constants={"a": whole(0, 0)})
    twice = {"b": whole(0, 0), "e": whole(1, 1), "a": whole(1, -3)}
    yield "Slice twice", one("Slice", "b", "e", "a", constants=twice)
    yield (
        "Slice step 0",
        one("Slice", "b", "e", "a", "s", constants={"b": zero, "e": two, "a": zero, "s": zero}),
    )
    yield "Transpose twice", one("Transpose", perm=[0, 0, 1, 2])
    yield "Transpose short", one("Transpose", perm=[0])


def tensor(name: str = "w", kind: int = TensorProto.FLOAT, dims: Any = (2,), **more: Any) -> Any:
    return TensorProto(name=name, data_type=kind, dims=dims, **more)


def tensors() -> Iterator[tuple[str, Any]]:
    """Type, dims and bytes that disagree."""
    wrong = {
        "too few bytes": tensor(raw_data=b"1234"),
        "too many bytes": tensor(raw_data=b"1" * 80),
        "no bytes": tensor(),
        "no type": tensor(kind=0, raw_data=b"12345678"),
        "an unknown type": tensor(kind=99, raw_data=b"12345678"),
        "negative dims": tensor(dims=(-1,), raw_data=b"12345678"),
        "huge dims": tensor(dims=(HUGE,), raw_data=b"12345678"),
        "dims beyond 64 bits": tensor(dims=(HUGE, HUGE), raw_data=b"12345678"),
        "2 GiB": tensor(dims=(2**29,), raw_data=b"12345678"),
        "100 axes": tensor(dims=[1] * 100, raw_data=b"1234"),
        "numbers of another field": tensor(int64_data=[1, 2]),
        "too few numbers": tensor(float_data=[1]),
        "texts": tensor(kind=TensorProto.STRING, string_data=[b"\xff", b"b"]),
        "complex numbers": tensor(kind=TensorProto.COMPLEX64, raw_data=bytes(16)),
        "outside": tensor(data_location=TensorProto.EXTERNAL),
    }
    for name, weight in wrong.items():
        yield f"weight: {name}", one("Add", "w", constants={"w": weight})
        constant = node("Constant", [], ["w"], name="bad", value=weight)
        yield f"Constant: {name}", model([constant, node("Add", ["x", "w"], ["y"])])
    sparse = one("Add", "w", constants=WEIGHT)
    sparse.graph.sparse_initializer.add()
    yield "sparse", sparse


def sizes() -> Iterator[tuple[str, Any]]:
    """Tensors that nobody has memory for, made by a few bytes."""
    for size in (2**31, 2**40, HUGE, 2**63 - 1):
        yield f"input {size}", one("Relu", shape=(size,))
        yield f"Expand {size}", one("Expand", "s", constants={"s": whole(size, 1, 4, 8, 8)})
        yield f"Tile {size}", one("Tile", "s", constants={"s": whole(size, 1, 1, 1)})
        for mode in ("constant", "edge", "reflect", "wrap"):
            pads = {"p": whole(0, 0, 0, size, 0, 0, 0, 0)}
            yield f"Pad {mode} {size}", one("Pad", "p", constants=pads, mode=mode)
        filled = [node("ConstantOfShape", ["s"], ["c"], name="bad"), node("Add", ["x", "c"], ["y"])]
        yield f"ConstantOfShape {size}", model(filled, {"s": whole(size)})
        limits = {"b": np.array(0), "e": np.array(size), "d": np.array(1)}
        counted = [
            node("Range", ["b", "e", "d"], ["r"], name="bad"),
            node("Add", ["x", "r"], ["y"]),
        ]
        yield f"Range {size}", model(counted, limits)
    scales = {"s": np.float32([1, 1, np.inf, np.nan])}
    yield "Resize by infinity", one("Resize", "", "s", constants=scales)
    doubled = [node("Concat", [f"c{n}", f"c{n}"], [f"c{n + 1}"], axis=0) for n in range(60)]
    added = node("Add", ["x", "c60"], ["y"])
    yield "constants that double", model([*doubled, added], {"c0": np.ones(64, np.float32)})
    doubled = [node("Concat", [f"c{n}", f"c{n}"], [f"c{n + 1}"], axis=0) for n in range(60)]
    first, last = node("Relu", ["x"], ["c0"]), node("Relu", ["c60"], ["y"])
    yield "activations that double", model([first, *doubled, last])
    many = [node("Relu", [f"t{n}"], [f"t{n + 1}"]) for n in range(100_000)]
    yield "100,000 nodes", model([node("Relu", ["x"], ["t0"]), *many, node("Relu", ["t9"], ["y"])])


def loop(trips: Any, condition: Any) -> Any:
    """A Loop over constants."""
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [node("Identity", ["c"], ["d"]), node("Add", ["v", "v"], ["u"])],
        "body",
        [value("i", 7, []), value("c", 9, []), value("v", 1, [1])],
        [value("d", 9, []), value("u", 1, [1])],
    )
    nodes = [
        node("Loop", [trips, condition, "v0"], ["z"], name="bad", body=body),
        node("Add", ["x", "z"], ["y"]),
    ]
    known = {"m": np.array(HUGE), "yes": np.array(True), "v0": np.ones(1, np.float32)}
    return model(nodes, known)


def function(name: str, *called: str) -> Any:
    """A function of the domain `own` that calls others, one after the other."""
    names = ["a", *(f"t{n}" for n in range(len(called) - 1)), "b"]
    calls = [
        node(kind, [names[n]], [names[n + 1]], domain="" if kind == "Relu" else "own")
        for n, kind in enumerate(called)
    ]
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, ["a"], ["b"], calls, opsets)


def structure() -> Iterator[tuple[str, Any]]:
    """Nodes, names and functions that make no graph."""
    call = [node("f0", ["x"], ["y"], domain="own")]
    doubling = [function(f"f{n}", f"f{n + 1}", f"f{n + 1}") for n in range(30)]
    yield "2^30 calls", model(call, functions=[*doubling, function("f30", "Relu", "Relu")])
    yield "itself", model(call, functions=[function("f0", "f0")])
    yield "each other", model(call, functions=[function("f0", "f1"), function("f1", "f0")])
    deep = [function(f"f{n}", f"f{n + 1}") for n in range(5000)]
    yield "5,000 deep", model(call, functions=[*deep, function("f5000", "Relu")])
    large = function("f0", "Relu")
    weight = numpy_helper.from_array(np.ones(2**18, np.float32))
    large.node.append(node("Constant", [], ["c"], value=weight))
    repeated = [node("f0", ["x"], [f"t{n}"], domain="own") for n in range(20_000)]
    yield "20 GB of constants", model([*repeated, *call], functions=[large])
    yield "Loop 2^62", loop("m", "yes")
    yield "Loop for ever", loop("", "yes")
    yield "no output", model([node("Relu", ["x"], [], name="bad"), node("Relu", ["x"], ["y"])])
    yield "empty output", model([node("Relu", ["x"], [""]), node("Relu", ["x"], ["y"])])
    yield "no operator", model([node("", ["x"], ["y"])])
    yield "unknown operator", one("NoSuch")
    yield "cycle", model([node("Add", ["x", "z"], ["y"]), node("Relu", ["y"], ["z"])])
    yield "of itself", model([node("Relu", ["y"], ["y"])])
    yield "made twice", model([node("Relu", ["x"], ["y"]), node("Abs", ["x"], ["y"])])
    yield "made an input", model([node("Relu", ["x"], ["x"]), node("Abs", ["x"], ["y"])])
    yield "reads nothing", model([node("Relu", ["nothing"], ["y"])])
    yield "nothing makes it", model([node("Relu", ["x"], ["z"])])
    yield (
        "sequence",
        model(
            [
                node("SequenceConstruct", ["x"], ["s"]),
                node("ConcatFromSequence", ["s"], ["y"], axis=0),
            ]
        ),
    )
    yield "random", one("RandomNormalLike")


def edited(change: Callable[[Any], Any]) -> Any:
    good = one("Relu")
    change(good)
    return good


def frames() -> Iterator[tuple[str, Any]]:
    """What stands around the graph."""
    yield "no outputs", edited(lambda m: m.graph.ClearField("output"))
    yield "no opset", edited(lambda m: m.ClearField("opset_import"))
    yield "no nodes", edited(lambda m: m.graph.ClearField("node"))
    for version in (-1, 0, 6, 99, 2**63 - 1):
        change = edited(lambda m, version=version: setattr(m.opset_import[0], "version", version))
        yield f"opset {version}", change
    yield "input of no type", edited(lambda m: m.graph.input[0].ClearField("type"))
    yield (
        "input of no element type",
        edited(lambda m: m.graph.input[0].type.tensor_type.ClearField("elem_type")),
    )
    yield (
        "sequence as input",
        edited(lambda m: m.graph.input[0].type.sequence_type.elem_type.tensor_type.SetInParent()),
    )
    yield (
        "optional as input",
        edited(lambda m: m.graph.input[0].type.optional_type.elem_type.tensor_type.SetInParent()),
    )
    yield "input without name", edited(lambda m: setattr(m.graph.input[0], "name", ""))
    yield "input twice", edited(lambda m: m.graph.input.append(m.graph.input[0]))
    yield "output twice", edited(lambda m: m.graph.output.append(m.graph.output[0]))
    yield "weight twice", edited(lambda m: m.graph.initializer.extend([tensor(), tensor()]))


HOSTILE = {
    name: hostile
    for group in (layers, axes, tensors, sizes, structure, frames)
    for name, hostile in group()
}
