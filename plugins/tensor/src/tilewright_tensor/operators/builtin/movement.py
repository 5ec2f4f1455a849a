"""Operators that take elements from elsewhere unchanged: joined, cut out, converted."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from tilewright_tensor.expressions.expr import cast, lt, select
from tilewright_tensor.ir.dag import compute
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.operators.builtin.padding import copy_stage
from tilewright_tensor.operators.definition.attribute import (
    Attribute,
    Attributes,
    dtype,
    from_front,
    integer,
    integers,
    text,
)
from tilewright_tensor.operators.definition.operator_def import (
    Inputs,
    Operand,
    OperatorDef,
    expect,
    expect_axis,
    numpy_reference,
    one_dtype,
)
from tilewright_tensor.operators.definition.places import axis_names

if TYPE_CHECKING:
    from tilewright_tensor.expressions.expr import Value
    from tilewright_tensor.expressions.tensor import Axis, Tensor

_DATA = (Operand("data"),)
Shape = tuple[int, ...]


def _concat_axis(inputs: Inputs | Sequence[Tensor], attributes: Attributes) -> int:
    rank, axis = len(inputs[0].shape), int(attributes["axis"])
    expect_axis(axis, rank)
    return axis % rank


def _concat_infer(inputs: Inputs, attributes: Attributes) -> tuple[Shape, str]:
    axis = _concat_axis(inputs, attributes)
    rests = {(len(one.shape), one.shape[:axis], one.shape[axis + 1 :]) for one in inputs}
    expect(len(rests) == 1, f"shapes {[list(i.shape) for i in inputs]} differ beside axis {axis}")
    first = inputs[0].shape
    total = sum(one.shape[axis] for one in inputs)
    return (*first[:axis], total, *first[axis + 1 :]), one_dtype(inputs)


def _concat_compute(tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
    axis = _concat_axis(tensors, attributes)
    ends = list(accumulate(t.shape[axis] for t in tensors))
    shape = list(tensors[0].shape)
    shape[axis] = ends[-1]

    def element(*place: Axis) -> Value:
        def read(i: int) -> Value:
            begin = ends[i] - tensors[i].shape[axis]
            return tensors[i][(*place[:axis], place[axis] - begin, *place[axis + 1 :])]

        value = read(len(tensors) - 1)
        for i in reversed(range(len(tensors) - 1)):
            value = select(lt(place[axis], ends[i]), read(i), value)
        return value

    return compute("concat", shape, element, axes=axis_names(len(shape)))


def _ranges(shape: Shape, attributes: Attributes) -> list[range]:
    begin, end = attributes["begin"], attributes["end"]
    steps = attributes["strides"] or [1] * len(shape)
    expect(
        len(begin) == len(end) == len(steps) == len(shape),
        f"begin, end and strides need {len(shape)} numbers each",
    )
    expect(0 not in steps, f"strides {steps}: a step of 0 goes nowhere")
    bounds = zip(begin, end, steps, shape, strict=True)
    return [range(*slice(b, e, s).indices(n)) for b, e, s, n in bounds]


def _slice_infer(inputs: Inputs, attributes: Attributes) -> tuple[Shape, str]:
    return tuple(len(r) for r in _ranges(inputs[0].shape, attributes)), inputs[0].dtype


def _slice_compute(tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
    data = tensors[0]
    ranges = _ranges(data.shape, attributes)

    def element(*place: Axis) -> Value:
        return data[tuple(axis * r.step + r.start for axis, r in zip(place, ranges, strict=True))]

    return compute("slice", [len(r) for r in ranges], element, axes=axis_names(len(ranges)))


def _layout_transform_infer(inputs: Inputs, attributes: Attributes) -> tuple[Shape, str]:
    src, dst = Layout.parse(attributes["src"]), Layout.parse(attributes["dst"])
    expect(src.letters == dst.letters, f"src {src} and dst {dst} name different axes")
    src.physical_shape(inputs[0].shape)
    return inputs[0].shape, inputs[0].dtype


def _layout_transform_compute(tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
    data = tensors[0]
    stored = [Layout.parse(attributes[side]).storage(data.dtype) for side in ("src", "dst")]
    if set(stored) == {data.dtype}:
        return copy_stage("layout_transform", data)

    def element(*place: Axis) -> Value:
        value: Value = data[place]
        for one in stored:
            value = cast(cast(value, one), data.dtype)
        return value

    return compute("layout_transform", data.shape, element, axes=axis_names(len(data.shape)))


def _cast_compute(tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
    data, dtype = tensors[0], attributes["dtype"]
    return compute(
        "cast",
        data.shape,
        lambda *place: cast(data[place], dtype),
        axes=axis_names(len(data.shape)),
    )


def _layout_text(value: Any) -> str:
    return str(Layout.parse(text(value)))


OPERATORS = (
    OperatorDef(
        "concat",
        _DATA,
        _concat_infer,
        _concat_compute,
        numpy_reference("concat"),
        (Attribute("axis", integer, 1, from_front),),
        variadic=True,
        concatenates=True,
    ),
    OperatorDef(
        "slice",
        _DATA,
        _slice_infer,
        _slice_compute,
        numpy_reference("slice"),
        (
            Attribute("begin", integers),
            Attribute("end", integers),
            Attribute("strides", integers, []),
        ),
        slices=_ranges,
    ),
    # described in logical shapes, so it computes nothing but roundings: a strategy lays its input
    # out as `src` and its output as `dst`
    OperatorDef(
        "layout_transform",
        _DATA,
        _layout_transform_infer,
        _layout_transform_compute,
        numpy_reference("layout_transform"),
        (Attribute("src", _layout_text), Attribute("dst", _layout_text)),
    ),
    OperatorDef(
        "cast",
        _DATA,
        lambda inputs, attributes: (inputs[0].shape, attributes["dtype"]),
        _cast_compute,
        numpy_reference("cast"),
        (Attribute("dtype", dtype),),
        elementwise=True,
        rounds=True,
    ),
)
