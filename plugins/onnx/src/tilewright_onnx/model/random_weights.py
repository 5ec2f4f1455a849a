"""Seeded random weights in place of a model's own, such that activations stay finite and differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod, sqrt
from typing import Any

import numpy as np

from tilewright.errors import UsageError
from tilewright_onnx.model.graph_walk import graphs_within
from tilewright_onnx.model.tensors import MOST_BYTES, array_of

_RESIDUAL_SCALE = 0.5
"""Of the last batch norm of a branch that is added to another: sums of many stay small."""

_RESIZING = ("Resize", "Upsample")
"""All operands but the first say how much."""

_COPIES = ("Unsqueeze", "Reshape", "Squeeze", "Identity")


def with_random_weights(proto: Any, seed: int) -> Any:
    """The model with every float weight drawn anew, those that nodes make included.

    Convolution and dense weights are normal with variance 2 / fan-in (He et al., "Delving Deep into
    Rectifiers", 2015), scales lie near 1, shifts near 0. The architecture, names and opset stay,
    and so do single numbers, which are bounds, exponents or factors, and the factors of a resize.
    """
    import onnx
    from onnx import numpy_helper

    new = onnx.ModelProto()
    new.CopyFrom(proto)
    graph = new.graph
    shapes = _weight_shapes(graph)
    uses = _uses(graph)
    known = {tensor.name for tensor in graph.initializer}.union(shapes)
    _drop(graph.node, lambda node: node.output[0] in shapes)
    read = {name for inner in graphs_within(graph) for name in _names_read(inner)}
    _drop(graph.initializer, lambda tensor: tensor.name in shapes or tensor.name not in read)
    _drop(graph.input, lambda value: value.name in known)
    rng = np.random.default_rng(seed)
    for name, shape in shapes.items():
        drawn = _draw(shape, uses.get(name, ("", 0, False)), rng)
        graph.initializer.append(numpy_helper.from_array(drawn, name))
    new.ir_version = max(new.ir_version, 4)  # initialisers need not be inputs from 4 on
    return new


def _drop(values: Any, is_unwanted: Callable[[Any], bool]) -> None:
    for index in reversed(range(len(values))):
        if is_unwanted(values[index]):
            del values[index]


def _names_read(graph: Any) -> Iterator[str]:
    """What its nodes take, and its outputs, which may be weights themselves."""
    yield from (name for node in graph.node for name in node.input)
    yield from (output.name for output in graph.output)


def _makes_a_weight(node: Any) -> bool:
    """Whether it fills a tensor with a float32, 0 where it does not say what with."""
    from onnx import TensorProto

    filled = [attribute.t.data_type for attribute in node.attribute if attribute.name == "value"]
    is_float32 = filled in ([], [TensorProto.FLOAT])
    return node.op_type == "ConstantOfShape" and bool(node.input) and is_float32


def _weight_shapes(graph: Any) -> dict[str, tuple[int, ...]]:
    """Shape of every float weight by name, in the order of the file."""
    from onnx import TensorProto

    tensors = {tensor.name: tensor for tensor in graph.initializer}
    shapes = {
        name: tuple(tensor.dims)
        for name, tensor in tensors.items()
        if tensor.data_type == TensorProto.FLOAT
    }
    for node in graph.node:
        if _makes_a_weight(node) and node.input[0] in tensors:
            shape = tuple(map(int, array_of(tensors[node.input[0]], graph.name).ravel()))
            if min(shape, default=0) < 0:
                problem = f"a weight of shape {list(shape)}, expected extents of at least 0"
                raise UsageError(problem, where=f"graph {graph.name!r}: {node.output[0]!r}")
            shapes[node.output[0]] = shape
    if 4 * sum(map(prod, shapes.values())) > MOST_BYTES:
        raise UsageError(
            f"its weights take more than {MOST_BYTES} bytes", where=f"graph {graph.name!r}"
        )
    sizes = {name for node in graph.node if node.op_type in _RESIZING for name in node.input[1:]}
    return {name: shape for name, shape in shapes.items() if prod(shape) > 1 and name not in sizes}


def _uses(graph: Any) -> dict[str, tuple[str, int, bool]]:
    """(operator, operand number, whether it ends a residual branch) of each first real use."""
    readers: dict[str, list[tuple[Any, int]]] = defaultdict(list)
    for node in graph.node:
        for position, name in enumerate(node.input):
            readers[name].append((node, position))
    makers = {output: node for node in graph.node for output in node.output}

    def use(name: str) -> tuple[str, int, bool]:
        node, position = readers[name][0]
        while node.op_type in _COPIES and readers[node.output[0]]:
            node, position = readers[node.output[0]][0]
        after = [reader for reader, _ in readers[node.output[0]]]
        ends = any(r.op_type in ("Add", "Sum") and _adds_activations(r, makers) for r in after)
        return node.op_type, position, ends

    return {name: use(name) for name in list(readers)}


def _adds_activations(node: Any, makers: Mapping[str, Any]) -> bool:
    return all(
        name in makers and makers[name].op_type not in ("ConstantOfShape", *_COPIES)
        for name in node.input
    )


def _draw(shape: Sequence[int], use: tuple[str, int, bool], rng: np.random.Generator) -> Any:
    operator, position, ends_branch = use
    values = _DRAWS.get((operator, position), _small)(shape, rng)
    if operator == "BatchNormalization" and position == 1 and ends_branch:
        values = values * _RESIDUAL_SCALE
    return values.astype(np.float32, copy=False)


def _filters(shape: Sequence[int], rng: np.random.Generator) -> Any:
    return _normal(shape, sqrt(2 / prod(shape[1:])), rng)


def _matrix(shape: Sequence[int], rng: np.random.Generator) -> Any:
    return _normal(shape, sqrt(2 / min(shape[-2:])), rng)


def _near_one(shape: Sequence[int], rng: np.random.Generator) -> Any:
    return rng.uniform(0.8, 1.2, shape)


def _small(shape: Sequence[int], rng: np.random.Generator) -> Any:
    return _normal(shape, 0.1, rng)


def _normal(shape: Sequence[int], deviation: float, rng: np.random.Generator) -> Any:
    return rng.standard_normal(shape, np.float32) * np.float32(deviation)


_DRAWS: Mapping[tuple[str, int], Callable[[Sequence[int], np.random.Generator], Any]] = {
    ("Conv", 1): _filters,
    ("ConvTranspose", 1): _filters,
    ("Gemm", 1): _matrix,
    ("MatMul", 1): _matrix,
    ("BatchNormalization", 1): _near_one,
    ("BatchNormalization", 4): _near_one,
    ("Mul", 0): _near_one,
    ("Mul", 1): _near_one,
}
"""By operator and operand; everything else is small."""
