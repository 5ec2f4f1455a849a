"""ONNX operators as ours: one small function each, found by name in `READERS`.

Those of one element are here, with the reductions; the others have files of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from tilewright_onnx.model.node_site import NodeSite
from tilewright_onnx.model.tensors import NARROW
from tilewright_onnx.nodes.composed_operators import COMPOSED_READERS
from tilewright_onnx.nodes.layer_operators import LAYER_READERS
from tilewright_onnx.nodes.normalisations import NORMALISATION_READERS
from tilewright_onnx.nodes.products import PRODUCT_READERS
from tilewright_onnx.nodes.recurrent_operators import RECURRENT_READERS
from tilewright_onnx.nodes.shape_operators import SHAPE_READERS

ReadNode = Callable[[NodeSite], None]

_MOST_SQUARED = 64
"""The largest exponent of integers that becomes products: with more, nearly all are too large."""


def _same(operator: str, site: NodeSite) -> None:
    """Same operands, no attributes."""
    site.finish(operator, *(site.tensor(i) for i in range(len(site.inputs))))


def _dropout(site: NodeSite) -> None:
    if site.has(2) and site.value(2):
        raise site.error("Dropout in training mode", "export the model for inference")
    site.finish("identity", site.tensor(0))


def _with_attributes(operator: str, names: Mapping[str, float], site: NodeSite) -> None:
    """One operand; attributes of equal names with ONNX's defaults."""
    given = {name: site.attribute(name, default) for name, default in names.items()}
    site.finish(operator, site.tensor(0), **given)


def _broadcasting(operator: str, site: NodeSite) -> None:
    """Several operands, numpy's broadcasting: ranks are made equal."""
    site.finish(operator, *site.at_one_rank())


def _folded(operator: str, site: NodeSite) -> None:
    """Any number of operands, from the left two at a time."""
    first, *others = site.at_one_rank()
    for other in others[:-1]:
        first = site.emit(operator, first, other)
    if others:
        site.finish(operator, first, others[-1])
    else:
        site.finish("identity", first)


def _mean(site: NodeSite) -> None:
    """The mean of any number of operands, element by element."""
    first, *others = site.at_one_rank()
    for other in others:
        first = site.emit("add", first, other)
    site.finish("multiply", first, site.scalar(1 / len(site.inputs), first))


def _reciprocal(site: NodeSite) -> None:
    site.finish("divide", site.scalar(1.0, site.tensor(0)), site.tensor(0))


def _cast(site: NodeSite) -> None:
    from onnx import helper

    dtype = helper.tensor_dtype_to_np_dtype(site.attribute("to"))
    site.finish("cast", site.tensor(0), dtype=str(dtype))


def _gelu(site: NodeSite) -> None:
    exact = site.attribute("approximate", "none") == "none"
    site.finish("gelu" if exact else "gelu_tanh", site.tensor(0))


def _mod(site: NodeSite) -> None:
    """With the sign of the divisor, or with `fmod` of the dividend."""
    _broadcasting("remainder" if site.attribute("fmod", 0) else "modulo", site)


def _bit_shift(site: NodeSite) -> None:
    _broadcasting(f"shift_{site.attribute('direction').lower()}", site)


def _power(site: NodeSite) -> None:
    """Squares and cubes are products, which cost far less. The exponent may be of another dtype."""
    if "float" not in site.spec(0).dtype:
        _power_of_integers(site)
        return
    if not site.is_known(1):
        operands, dtype = site.at_one_rank(), site.spec(0).dtype
        site.finish("power", operands[0], _in_dtype(site, operands[1], dtype))
        return
    base, exponent = site.tensor(0), site.value(1)
    if exponent.size == 1 and exponent.item() in (2, 3) and exponent.ndim <= len(site.shape(base)):
        square = site.emit("multiply", base, base) if exponent.item() == 3 else base
        site.finish("multiply", square, base)
        return
    rank = max(len(site.shape(base)), exponent.ndim)
    exponent = site.constant(exponent.astype(site.spec(0).dtype))
    site.finish("power", site.at_rank(base, rank), site.at_rank(exponent, rank))


def _in_dtype(site: NodeSite, tensor: str, dtype: str) -> str:
    return tensor if site.dtype(tensor) == dtype else site.emit("cast", tensor, dtype=dtype)


def _power_of_integers(site: NodeSite) -> None:
    """Squares and products of them, which wrap; else in float64, which has 53 bits and does not."""
    exponent = site.value(1) if site.is_known(1) else np.empty(0)
    if exponent.size == 1 and exponent.item() in range(1, _MOST_SQUARED + 1):
        base = power = site.at_rank(site.tensor(0), max(len(site.spec(0).shape), exponent.ndim))
        for bit in f"{int(exponent.item()):b}"[1:]:
            power = site.emit("multiply", power, power)
            power = site.emit("multiply", power, base) if bit == "1" else power
        site.finish("identity", power)
        return
    wide = [site.emit("cast", one, dtype="float64") for one in site.at_one_rank()]
    site.finish("cast", site.emit("power", *wide), dtype=site.spec(0).dtype)


def _triangle(site: NodeSite) -> None:
    """What lies on one side of a diagonal, zeros elsewhere."""
    data, shape = site.tensor(0), site.spec(0).shape
    cut = np.triu if site.attribute("upper", 1) else np.tril
    diagonal = site.value(1).item() if site.has(1) else 0
    site.expect_room(shape[-2:], "bool")
    kept = cut(np.ones(shape[-2:], np.bool_), diagonal)
    mask = site.at_rank(site.constant(kept), len(shape))
    site.finish("where", mask, data, site.scalar(0, data))


def _swapped(operator: str, site: NodeSite) -> None:
    """Two operands the other way round."""
    first, second = site.at_one_rank()
    site.finish(operator, second, first)


def _is_nan(site: NodeSite) -> None:
    site.finish("logical_not", site.emit("equal", site.tensor(0), site.tensor(0)))


def _place_of_extreme(operator: str, site: NodeSite) -> None:
    site.finish(
        operator,
        site.tensor(0),
        axis=site.attribute("axis", 0),
        keepdims=bool(site.attribute("keepdims", 1)),
        last=bool(site.attribute("select_last_index", 0)),
    )


def _reduced_axes(site: NodeSite) -> list[int]:
    """An attribute or, in later opsets, an operand; without them all axes, or none at all."""
    rank = len(site.spec(0).shape)
    given = site.value(1) if site.has(1) else site.attribute("axes", ())
    every = () if site.attribute("noop_with_empty_axes", 0) else range(rank)
    return sorted({int(axis) % rank for axis in given}) or list(every)


def _reduce(operator: str, site: NodeSite, before: str = "", after: str = "") -> None:
    """Over no axes the reduction is left out; what comes before and after it stays.

    `before` and `after` are operators of each element and of each result; a product is a square.
    Nothing between them is rounded to 16 bits.
    """
    axes, data = _reduced_axes(site), site.tensor(0)
    steps: list[tuple[str, dict[str, Any]]] = [(before, {})] if before else []
    if axes:
        steps.append((operator, {"axes": axes, "keepdims": bool(site.attribute("keepdims", 1))}))
    steps += [(after, {})] if after else []
    if len(steps) > 1 and (dtype := site.spec(0).dtype) in NARROW:
        steps = [("cast", {"dtype": "float32"}), *steps, ("cast", {"dtype": dtype})]
    *inner, (last, attributes) = steps or [("identity", {})]
    for step, given in inner:
        data = site.emit(step, *[data] * (2 if step == "multiply" else 1), **given)
    site.finish(last, *[data] * (2 if last == "multiply" else 1), **attributes)


def _log_sum_exp(site: NodeSite) -> None:
    """The largest element is taken out first, unless infinite: no exponential is too large."""
    shape, data, axes = site.spec(0).shape, site.tensor(0), _reduced_axes(site)
    if not axes:
        site.finish("identity", data)
        return
    if "float" not in site.spec(0).dtype:
        raise site.error(f"ReduceLogSumExp of {site.spec(0).dtype}", "cast it to float32")
    largest = site.emit("reduce_max", data, axes=axes, keepdims=True)
    finite = float(ml_dtypes.finfo(site.spec(0).dtype).max)  # type: ignore[no-untyped-call]
    largest = site.emit("clip", largest, min=-finite, max=finite)
    raised = site.emit("exp", site.emit("subtract", data, largest))
    logarithm = site.emit("log", site.emit("reduce_sum", raised, axes=axes, keepdims=True))
    if site.attribute("keepdims", 1):
        site.finish("add", logarithm, largest)
    else:
        kept = [n for d, n in enumerate(shape) if d not in axes]
        site.finish("reshape", site.emit("add", logarithm, largest), shape=kept)


def _hardmax(site: NodeSite) -> None:
    """1 at the first of the largest along the axis, 0 elsewhere."""
    data, axis, shape = _along_one_axis(site)
    extents, dtype = site.shape(data), site.spec(0).dtype
    beside = [1] * (len(extents) - axis - 1)
    site.expect_room(extents[axis : axis + 1], "int64")
    places = site.constant(np.arange(extents[axis]).reshape(*[1] * axis, -1, *beside))
    found = site.emit("equal", site.emit("arg_max", data, axis=axis), places)
    if shape is None:
        site.finish("cast", found, dtype=dtype)
    else:
        site.finish("reshape", site.emit("cast", found, dtype=dtype), shape=shape)


def _softmax(site: NodeSite) -> None:
    data, axis, shape = _along_one_axis(site)
    if shape is None:
        site.finish("softmax", data, axis=axis)
    else:
        site.finish("reshape", site.emit("softmax", data, axis=axis), shape=shape)


def _log_softmax(site: NodeSite) -> None:
    """Logarithms of a sum, not of a softmax, which may be 0."""
    data, axis, shape = _along_one_axis(site)
    over = {"axes": [axis], "keepdims": True}
    centred = site.emit("subtract", data, site.emit("reduce_max", data, **over))
    total = site.emit("log", site.emit("reduce_sum", site.emit("exp", centred), **over))
    if shape is None:
        site.finish("subtract", centred, total)
    else:
        site.finish("reshape", site.emit("subtract", centred, total), shape=shape)


def _along_one_axis(site: NodeSite) -> tuple[str, int, list[int] | None]:
    """(operand, axis, shape of the result where it is another than the operand's).

    Up to opset 12 the axes from `axis` on are one; since, only `axis` is summed over.
    """
    shape = site.spec(0).shape
    axis = site.attribute("axis", 1 if site.opset < 13 else -1) % len(shape)
    wide = [d for d in range(axis, len(shape)) if shape[d] > 1]
    if site.opset >= 13 or len(wide) <= 1:
        return site.tensor(0), wide[0] if site.opset < 13 and wide else axis, None
    flat = site.reshaped(site.tensor(0), (prod(shape[:axis]), prod(shape[axis:])))
    return flat, 1, list(shape)


def _clip(site: NodeSite) -> None:
    if site.opset < 11:
        limits = {"min": site.attribute("min"), "max": site.attribute("max")}
    else:
        limits = {name: site.value(i).item() for i, name in ((1, "min"), (2, "max")) if site.has(i)}
    site.finish("clip", site.tensor(0), **limits)


READERS: Mapping[str, ReadNode] = {
    "Abs": partial(_same, "abs"),
    "Add": partial(_broadcasting, "add"),
    "And": partial(_broadcasting, "logical_and"),
    "ArgMax": partial(_place_of_extreme, "arg_max"),
    "ArgMin": partial(_place_of_extreme, "arg_min"),
    "BitShift": _bit_shift,
    "BitwiseAnd": partial(_broadcasting, "bitwise_and"),
    "BitwiseNot": partial(_same, "bitwise_not"),
    "BitwiseOr": partial(_broadcasting, "bitwise_or"),
    "BitwiseXor": partial(_broadcasting, "bitwise_xor"),
    "Cast": _cast,
    "Ceil": partial(_same, "ceil"),
    "Clip": _clip,
    "Cos": partial(_same, "cos"),
    "Div": partial(_broadcasting, "divide"),
    "Dropout": _dropout,
    "Elu": partial(_with_attributes, "elu", {"alpha": 1.0}),
    "Equal": partial(_broadcasting, "equal"),
    "Erf": partial(_same, "erf"),
    "Exp": partial(_same, "exp"),
    "Floor": partial(_same, "floor"),
    "Gelu": _gelu,
    "Greater": partial(_swapped, "less"),
    "GreaterOrEqual": partial(_swapped, "less_equal"),
    "HardSigmoid": partial(_with_attributes, "hard_sigmoid", {"alpha": 0.2, "beta": 0.5}),
    "Hardmax": _hardmax,
    "HardSwish": partial(_same, "hard_swish"),
    "Identity": partial(_same, "identity"),
    "IsNaN": _is_nan,
    "LeakyRelu": partial(_with_attributes, "leaky_relu", {"alpha": 0.01}),
    "Less": partial(_broadcasting, "less"),
    "LessOrEqual": partial(_broadcasting, "less_equal"),
    "Log": partial(_same, "log"),
    "LogSoftmax": _log_softmax,
    "Max": partial(_folded, "maximum"),
    "Mod": _mod,
    "Mean": _mean,
    "Min": partial(_folded, "minimum"),
    "Mul": partial(_broadcasting, "multiply"),
    "Neg": partial(_same, "neg"),
    "Not": partial(_same, "logical_not"),
    "Or": partial(_broadcasting, "logical_or"),
    "PRelu": partial(_broadcasting, "prelu"),
    "Pow": _power,
    "Reciprocal": _reciprocal,
    "ReduceL1": partial(_reduce, "reduce_sum", before="abs"),
    "ReduceL2": partial(_reduce, "reduce_sum", before="multiply", after="sqrt"),
    "ReduceLogSum": partial(_reduce, "reduce_sum", after="log"),
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceMax": partial(_reduce, "reduce_max"),
    "ReduceMean": partial(_reduce, "reduce_mean"),
    "ReduceMin": partial(_reduce, "reduce_min"),
    "ReduceProd": partial(_reduce, "reduce_prod"),
    "ReduceSum": partial(_reduce, "reduce_sum"),
    "ReduceSumSquare": partial(_reduce, "reduce_sum", before="multiply"),
    "Relu": partial(_same, "relu"),
    "Round": partial(_same, "round"),
    "Sigmoid": partial(_same, "sigmoid"),
    "Sign": partial(_same, "sign"),
    "Sin": partial(_same, "sin"),
    "Softmax": _softmax,
    "Softplus": partial(_same, "softplus"),
    "Sqrt": partial(_same, "sqrt"),
    "Sub": partial(_broadcasting, "subtract"),
    "Sum": partial(_folded, "add"),
    "Tanh": partial(_same, "tanh"),
    "Trilu": _triangle,
    "Where": partial(_broadcasting, "where"),
    **COMPOSED_READERS,
    **LAYER_READERS,
    **NORMALISATION_READERS,
    **PRODUCT_READERS,
    **RECURRENT_READERS,
    **SHAPE_READERS,
}
"""Operators of activations; nodes on known values (shapes, weights) are evaluated instead."""
