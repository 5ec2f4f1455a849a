"""Element-wise operators, from tables of name and value."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tilewright_tensor.expressions import expr as e
from tilewright_tensor.expressions import whole_numbers
from tilewright_tensor.ir.dag import compute
from tilewright_tensor.operators.attribute import Attribute, number, optional_number
from tilewright_tensor.operators.operator_def import (
    Attributes,
    Inputs,
    Operand,
    OperatorDef,
    Values,
    expect,
    numpy_reference,
    one_dtype,
)
from tilewright_tensor.operators.places import axis_names, broadcast_place, broadcast_shapes

if TYPE_CHECKING:
    from tilewright_tensor.ir.dag import Axis, Tensor

_SQRT_HALF = math.sqrt(0.5)


def _clip(x: Any, **bounds: float | None) -> Any:
    low, high = bounds["min"], bounds["max"]
    least, greatest = e.limits(e.dtype_of(x))

    def bound(value: float, whole: Callable[[float], int]) -> float:
        return value if least == -math.inf else min(max(whole(value), least), greatest)

    raised = x if low is None else e.maximum(x, bound(low, math.ceil))
    return raised if high is None else e.minimum(raised, bound(high, math.floor))


def _divide(x: Any, y: Any) -> Any:
    """Whole numbers are cut towards zero, as ONNX and C have it."""
    return x / y if "float" in e.dtype_of(x) else whole_numbers.quotient(x, y)


def _modulo(x: Any, y: Any) -> Any:
    if "float" not in e.dtype_of(x):
        return whole_numbers.modulo(x, y)
    rest = whole_numbers.remainder(x, y)
    below = e.logical_and(e.lt(rest, 0.0), e.lt(0.0, y))
    above = e.logical_and(e.lt(0.0, rest), e.lt(y, 0.0))
    return e.select(e.logical_or(below, above), rest + y, rest)


def _inverted(x: Any) -> Any:
    low, high = e.limits(e.dtype_of(x))
    return whole_numbers.bitwise_xor(x, -1 if low else high)


def _shifted(shift: Callable[[Any, Any], Any], x: Any, count: Any) -> Any:
    """By less than nothing, or by all bits: 0, and at the right the sign."""
    dtype = e.dtype_of(x)
    inside: Any = e.lt(count, 8 * e.ITEM_BYTES[dtype])
    beyond: Any = e.as_value(0, dtype)
    if e.limits(dtype)[0]:
        inside = e.logical_and(e.le(0, count), inside)
        if shift is whole_numbers.shift_right:
            beyond = e.select(e.lt(x, 0), -1, beyond)
    return e.select(inside, shift(x, count), beyond)


def _sign(x: Any) -> Any:
    below = e.select(e.lt(x, 0), -1, x) if e.limits(e.dtype_of(x))[0] else x
    return e.select(e.lt(0, x), 1, below)


_UNARY: dict[str, Callable[[Any], Any]] = {
    "identity": lambda x: x,
    "relu": lambda x: e.maximum(x, 0.0),
    "neg": lambda x: -x,
    "abs": e.absolute,
    "exp": e.exp,
    "log": e.log,
    "sqrt": e.sqrt,
    "sin": e.sin,
    "cos": e.cos,
    "tanh": e.tanh,
    "erf": e.erf,
    "sigmoid": lambda x: 1.0 / (e.exp(-x) + 1.0),
    "gelu": lambda x: x * 0.5 * (e.erf(x * _SQRT_HALF) + 1.0),
    "softplus": lambda x: e.maximum(x, 0.0) + e.log1p(e.exp(-e.absolute(x))),
    "hard_swish": lambda x: x * e.minimum(e.maximum(x + 3.0, 0.0), 6.0) * (1.0 / 6.0),
}

_WITH_ATTRIBUTES: dict[str, tuple[Callable[..., Any], tuple[Attribute, ...]]] = {
    "clip": (
        _clip,
        (Attribute("min", optional_number, None), Attribute("max", optional_number, None)),
    ),
    "leaky_relu": (
        lambda x, alpha: e.select(e.lt(x, 0.0), x * alpha, x),
        (Attribute("alpha", number, 0.01),),
    ),
    "elu": (
        lambda x, alpha: e.select(e.lt(x, 0.0), e.expm1(x) * alpha, x),
        (Attribute("alpha", number, 1.0),),
    ),
    "hard_sigmoid": (
        lambda x, alpha, beta: e.minimum(e.maximum(x * alpha + beta, 0.0), 1.0),
        (Attribute("alpha", number, 0.2), Attribute("beta", number, 0.5)),
    ),
}
"""Of one operand; the attributes follow it by name."""

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": _divide,
    "maximum": e.maximum,
    "minimum": e.minimum,
    "power": e.power,
    "prelu": lambda x, slope: e.select(e.lt(x, 0.0), x * slope, x),
}
"""Of two operands of one rank, broadcast on axes of extent 1."""

_STEPS: dict[str, tuple[tuple[str, ...], Callable[..., Any]]] = {
    "floor": (("data",), e.floor),
    "ceil": (("data",), e.ceil),
    "round": (("data",), e.round_),
    "sign": (("data",), _sign),
    "modulo": (("a", "b"), _modulo),
    "remainder": (("a", "b"), whole_numbers.remainder),
    "bitwise_and": (("a", "b"), whole_numbers.bitwise_and),
    "bitwise_or": (("a", "b"), whole_numbers.bitwise_or),
    "bitwise_xor": (("a", "b"), whole_numbers.bitwise_xor),
    "bitwise_not": (("data",), _inverted),
    "shift_left": (("a", "b"), partial(_shifted, whole_numbers.shift_left)),
    "shift_right": (("a", "b"), partial(_shifted, whole_numbers.shift_right)),
    "logical_not": (("data",), e.logical_not),
    "logical_and": (("a", "b"), e.logical_and),
    "logical_or": (("a", "b"), e.logical_or),
    "equal": (("a", "b"), e.eq),
    "less": (("a", "b"), e.lt),
    "less_equal": (("a", "b"), e.le),
    "where": (("condition", "a", "b"), e.select),
}
"""In no epilogue: behind a sum they make a jump of its rounding, or their dtypes differ."""

_NUMBERS = (
    "neg", "abs", "sign", "subtract", "divide", "modulo", "remainder", "clip", "less", "less_equal",
)  # fmt: skip
_FLOATS = (
    "exp", "log", "sqrt", "sin", "cos", "floor", "ceil", "round", "tanh", "erf", "sigmoid", "gelu",
    "softplus", "hard_swish", "leaky_relu", "elu", "hard_sigmoid", "power", "prelu",
)  # fmt: skip
"""What is not defined, or not in its own dtype, on bool, and on any whole number."""

_VALUES: Mapping[str, Mapping[int, Values]] = {
    "log": {0: "positive"},
    "sqrt": {0: "positive"},
    "divide": {1: "positive"},
    "modulo": {1: "positive"},
    "remainder": {1: "positive"},
    "power": {0: "positive", 1: "exponent"},
}
"""Random data of operands where it is not to be signed."""


_COMPARISONS, _LOGIC = ("equal", "less", "less_equal"), ("logical_not", "logical_and", "logical_or")


def _infer(name: str, inputs: Inputs, _attributes: Attributes) -> tuple[tuple[int, ...], str]:
    shapes = [list(one.shape) for one in inputs]
    expect(
        len({len(shape) for shape in shapes}) == 1, f"expected operands of one rank, got {shapes}"
    )
    conditions = inputs if name in _LOGIC else inputs[:1] if name == "where" else ()
    for one in conditions:
        expect(one.dtype == "bool", f"expected a condition of dtype bool, got {one.dtype}")
    dtype = one_dtype(inputs[1:] if name == "where" else inputs)
    of_bits = name.startswith(("bitwise", "shift"))
    expect(not of_bits or "int" in dtype, f"expected whole numbers, got {dtype}")
    return broadcast_shapes(*shapes), "bool" if name in _COMPARISONS else dtype


def _elementwise(
    name: str,
    operands: Sequence[str],
    value: Callable[..., Any],
    attributes: tuple[Attribute, ...] = (),
    *,
    in_epilogues: bool = True,
) -> OperatorDef:
    def stage(tensors: Sequence[Tensor], given: Attributes) -> Tensor:
        def element(*place: Axis) -> Any:
            reads = (tensor[broadcast_place(place, tensor.shape)] for tensor in tensors)
            return value(*reads, **given)

        shape = broadcast_shapes(*(tensor.shape for tensor in tensors))
        return compute(name, shape, element, axes=axis_names(len(shape)))

    return OperatorDef(
        name,
        tuple(
            Operand(operand, values=_VALUES.get(name, {}).get(i, "signed"))
            for i, operand in enumerate(operands)
        ),
        partial(_infer, name),
        stage,
        numpy_reference(name),
        attributes,
        elementwise=in_epilogues,
        values="float" if name in _FLOATS else "number" if name in _NUMBERS else "any",
    )


OPERATORS = (
    *(_elementwise(name, ["data"], value) for name, value in _UNARY.items()),
    *(_elementwise(name, ["data"], *entry) for name, entry in _WITH_ATTRIBUTES.items()),
    *(_elementwise(name, ["a", "b"], value) for name, value in _BINARY.items()),
    *(_elementwise(name, *entry, in_epilogues=False) for name, entry in _STEPS.items()),
)
