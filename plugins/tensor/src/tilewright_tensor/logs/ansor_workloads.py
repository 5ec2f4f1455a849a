"""The workload of an Ansor record: by the shapes in its key, or by the loops of its steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

from tilewright.json_object import BadLineError, UnknownLineError
from tilewright.vocabulary.workload import EpilogueOp, TensorSpec, Workload
from tilewright_tensor.logs.ansor_stages import Stages
from tilewright_tensor.operators.operators import Operators

Shape = tuple[int, ...]
_MOST = 2**31 - 1
_MOST_STRIDE = 8


@dataclass(frozen=True, slots=True)
class Form:
    """How TVM defines a product that is one of our operators.

    operator  ours
    stages    names here of its stages, operands included, in TVM's order; the product last
    loops     TVM's order of the product's loops, by place among ours
    image     likewise, of every stage's axes but those of the second operand
    second    likewise, of these
    fused     how many of the product's loops, last in that order, are one there
    """

    operator: str
    stages: tuple[str, ...]
    loops: tuple[int, ...]
    image: tuple[int, ...]
    second: tuple[int, ...]
    fused: int = 1


_CONV2D = "data", "pad", "weight", "conv2d"
_NCHW, _NHWC = (0, 1, 2, 3), (0, 2, 3, 1)
FORMS: Mapping[str, Form] = {
    "dense": Form("dense", ("data", "weight", "dense"), (0, 1, 2), (0, 1), (0, 1)),
    "matmul": Form("matmul", ("a", "b", "matmul"), (0, 1, 2), (0, 1), (0, 1)),
    "batch_matmul": Form("matmul", ("a", "b", "matmul"), (0, 1, 2, 3), (0, 1, 2), (0, 2, 1)),
    "conv2d_nchw": Form("conv2d", _CONV2D, (0, 1, 2, 3, 4, 5, 6), _NCHW, _NCHW),
    "conv2d_nhwc": Form("conv2d", _CONV2D, (0, 2, 3, 1, 5, 6, 4), _NHWC, (2, 3, 1, 0)),
    "depthwise_conv2d_nhwc": Form(
        "conv2d", _CONV2D, (0, 2, 3, 1, 5, 6, 4), _NHWC, (2, 3, 0, 1), fused=2
    ),
}
"""By names of the forms, which configs carry."""


def form_and_workload(key: str, stages: Stages, operators: Operators) -> tuple[str, Workload]:
    """The form's name and the anchor. Raises UnknownLineError, BadLineError, UsageError.

    What follows the product is in no key, and no part of the anchor.
    """
    try:
        name, *arguments = json.loads(key)
    except (ValueError, TypeError, RecursionError):
        raise BadLineError(f"a workload key that is no list: {key!r}"[:80]) from None
    shapes = [tuple(one) for one in arguments if isinstance(one, list)]
    if name in _TUTORIALS:
        found = _made(_TUTORIALS[name](*arguments), operators)
    elif len(shapes) > 2:
        found = by_shapes(shapes, operators)
    else:
        found = _made(_by_loops(stages), operators)
    if len(FORMS[found[0]].stages) - 1 != stages.product:
        raise UnknownLineError(f"the product is stage {stages.product}, which {found[0]} has not")
    return found


def by_shapes(shapes: Sequence[Shape], operators: Operators) -> tuple[str, Workload]:
    """Likewise of the shapes of operands and output.

    The first form that makes this output of the first two.
    """
    if len(shapes) < 3:
        raise UnknownLineError("fewer than two operands and an output")
    first, second, *_, output = shapes
    make = _MAKERS.get((len(first), len(second), len(output)))
    return _made(make(first, second, output) if make else None, operators)


def _made(found: _Found | None, operators: Operators) -> tuple[str, Workload]:
    if found is None:
        raise UnknownLineError("no operator of ours has these shapes or loops")
    form, first, second, attributes = found
    numbers = chain(first, second, *(attributes.get(name, ()) for name in ("strides", "padding")))
    if any(type(n) is not int or not 0 <= n <= _MOST for n in numbers):
        raise BadLineError(f"a shape of {form} that is none")
    operator = FORMS[form].operator
    role: Literal["activation", "constant"] = "activation" if operator == "matmul" else "constant"
    inputs = TensorSpec(first), TensorSpec(second, "float32", role)
    return form, operators.workload(operator, inputs, attributes)


def with_stand_ins(anchor: Workload, stages: Stages, operators: Operators) -> Workload:
    """The anchor with as many stages behind it as the record has.

    What they compute is in no record; it makes no difference to a schedule.
    """
    output, operands, epilogue = operators.output(anchor), list(anchor.inputs), []
    for count in stages.operands:
        own = (len(operands),) if count else ()
        operands += [TensorSpec(output.shape)] * len(own)
        epilogue.append(EpilogueOp("add" if own else "relu", {}, own))
    attributes = anchor.attributes
    return operators.workload(anchor.operator, operands, attributes, epilogue)


_Found = tuple[str, Shape, Shape, Mapping[str, Any]]


def _matmul_add(rows: int, depth: int, columns: int, dtype: str) -> _Found:
    del dtype
    return "matmul", (rows, depth), (depth, columns), {}


def _conv2d_layer(*arguments: Any) -> _Found:
    n, height, width, filters, channels, kh, kw, strides, (top, left) = arguments
    attributes = {"strides": strides, "padding": [top, left, top, left]}
    image, weight = (n, channels, height, width), (filters, channels, kh, kw)
    return "conv2d_nchw", image, weight, attributes


_TUTORIALS: Mapping[str, Callable[..., _Found]] = {
    "matmul_add": _matmul_add,
    "conv2d_layer": _conv2d_layer,
}
"""Functions of TVM's own tutorials, by their arguments; any other is only known to its user."""


def _by_loops(stages: Stages) -> _Found | None:
    """Products of matrices, which their loops tell whole."""
    if stages.spatial == 2 and len(stages.extents) == 3:
        rows, columns, depth = stages.extents
        return "dense", (rows, depth), (columns, depth), {}
    if stages.spatial == 3 and len(stages.extents) == 4:
        batch, rows, columns, depth = stages.extents
        return "batch_matmul", (batch, rows, depth), (batch, depth, columns), {}
    return None


def _matrices(first: Shape, second: Shape, output: Shape) -> _Found | None:
    (rows, depth), (columns, also) = first, second
    if also == depth and output == (rows, columns):
        return "dense", first, second, {}
    if columns == depth and output == (rows, also):
        return "matmul", first, second, {}
    return None


def _batches(first: Shape, second: Shape, output: Shape) -> _Found | None:
    batch, rows, depth = first
    for columns, also in (second[1:], second[:0:-1]):
        if (second[0], also) == (batch, depth) and output == (batch, rows, columns):
            return "batch_matmul", first, (batch, depth, columns), {}
    return None


def _images(first: Shape, second: Shape, output: Shape) -> _Found | None:
    if output[:2] == (first[0], second[0]) and second[1] == first[1]:
        return _convolution("conv2d_nchw", first, second, output[2:])
    n, height, width, channels = first
    kh, kw, depth, filters = second
    image = n, channels, height, width
    if depth == channels and output[::3] == (n, filters):
        return _convolution("conv2d_nhwc", image, (filters, channels, kh, kw), output[1:3])
    if (depth, filters, *output[::3]) == (channels, 1, n, channels):
        weight = channels, 1, kh, kw
        return _convolution("depthwise_conv2d_nhwc", image, weight, output[1:3], groups=channels)
    return None


def _convolution(
    form: str, image: Shape, weight: Shape, output: Sequence[int], *, groups: int = 1
) -> _Found | None:
    """With the strides and the least even padding that make the output's extents."""
    both = zip(image[2:], weight[2:], output, strict=True)
    ways = [_stride_and_padding(*extents) for extents in both]
    if None in ways:
        return None
    (down, top), (across, left) = (way for way in ways if way is not None)
    attributes = {
        "strides": [down, across], "padding": [top, left, top, left], "groups": groups,
    }  # fmt: skip
    return form, image, weight, attributes


def _stride_and_padding(extent: int, taps: int, output: int) -> tuple[int, int] | None:
    for stride in range(1, _MOST_STRIDE + 1):
        missing = (output - 1) * stride + taps - extent
        padding = max(0, -(-missing // 2))
        if padding < taps and (extent + 2 * padding - taps) // stride + 1 == output:
            return stride, padding
    return None


_MAKERS: Mapping[Shape, Callable[[Shape, Shape, Shape], _Found | None]] = {
    (2, 2, 2): _matrices,
    (3, 3, 3): _batches,
    (4, 4, 4): _images,
}
