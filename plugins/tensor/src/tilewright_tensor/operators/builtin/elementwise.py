"""Element-wise operators, a line each: name, value, and what is not as for most of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tilewright_tensor.expressions import expr as e
from tilewright_tensor.expressions.dtype import ITEM_BYTES, is_float, is_whole, limits
from tilewright_tensor.ir.dag import compute
from tilewright_tensor.operators.definition.attribute import (
    Attribute,
    Attributes,
    number,
    optional_number,
)
from tilewright_tensor.operators.definition.operator_def import (
    AxisPairs,
    Domain,
    Inputs,
    Operand,
    OperatorDef,
    Values,
    expect,
    numpy_reference,
    one_dtype,
)
from tilewright_tensor.operators.definition.places import (
    axis_names,
    broadcast_place,
    broadcast_shapes,
)

if TYPE_CHECKING:
    from tilewright_tensor.expressions.tensor import Axis, Tensor

_SQRT_HALF = math.sqrt(0.5)
_GELU_SLOPE = 2 * math.sqrt(2 / math.pi)


def _clip(x: Any, **bounds: float | None) -> Any:
    low, high = bounds["min"], bounds["max"]
    least, greatest = limits(e.dtype_of(x))

    def bound(value: float, whole: Callable[[float], int]) -> float:
        return value if least == -math.inf else min(max(whole(value), least), greatest)

    raised = x if low is None else e.maximum(x, bound(low, math.ceil))
    return raised if high is None else e.minimum(raised, bound(high, math.floor))


def _divide(x: Any, y: Any) -> Any:
    """Whole numbers are cut towards zero, as ONNX and C have it."""
    return x / y if is_float(e.dtype_of(x)) else e.quotient(x, y)


def _modulo(x: Any, y: Any) -> Any:
    if not is_float(e.dtype_of(x)):
        return e.modulo(x, y)
    rest = e.remainder(x, y)
    below = e.logical_and(e.lt(rest, 0.0), e.lt(0.0, y))
    above = e.logical_and(e.lt(0.0, rest), e.lt(y, 0.0))
    return e.select(e.logical_or(below, above), rest + y, rest)


def _inverted(x: Any) -> Any:
    low, high = limits(e.dtype_of(x))
    return e.bitwise_xor(x, -1 if low else high)


def _shifted(shift: Callable[[Any, Any], Any], x: Any, count: Any) -> Any:
    """By less than nothing, or by all bits: 0, and at the right the sign."""
    dtype = e.dtype_of(x)
    inside: Any = e.lt(count, 8 * ITEM_BYTES[dtype])
    beyond: Any = e.as_value(0, dtype)
    if limits(dtype)[0]:
        inside = e.logical_and(e.le(0, count), inside)
        if shift is e.shift_right:
            beyond = e.select(e.lt(x, 0), -1, beyond)
    return e.select(inside, shift(x, count), beyond)


def _sign(x: Any) -> Any:
    below = e.select(e.lt(x, 0), -1, x) if limits(e.dtype_of(x))[0] else x
    return e.select(e.lt(0, x), 1, below)


def _gelu_tanh(x: Any) -> Any:
    """For x/2 (1 + tanh(u)), x times the sigmoid of 2u: nothing cancels."""
    return x / (e.exp(-(x * (x * x * (0.044715 * _GELU_SLOPE) + _GELU_SLOPE))) + 1.0)


def _mish(x: Any) -> Any:
    """For x tanh(log(1 + e**x)), by polynomials of e**x; from 20 on the tanh is 1.

    It reads x five times: schedules write out before it what makes x, each time anew.
    """
    grown = e.exp(e.minimum(x, 20.0))
    product = grown * (grown + 2.0)
    return x * (product / (product + 2.0))


@dataclass(frozen=True, slots=True)
class _Dtypes:
    """What dtypes an operator takes, and what it gives, beside the domain of its definition.

    conditions    how many operands, the first ones, are bool
    whole         the others are whole numbers
    gives_bool    so is the output; else it has the dtype of the others
    """

    conditions: int = 0
    whole: bool = False
    gives_bool: bool = False

    def infer(self, inputs: Inputs, _attributes: Attributes) -> tuple[tuple[int, ...], str]:
        """The (shape, dtype) of the output."""
        shapes = [list(one.shape) for one in inputs]
        expect(
            len({len(shape) for shape in shapes}) == 1,
            f"expected operands of one rank, got {shapes}",
        )
        for one in inputs[: self.conditions]:
            expect(one.dtype == "bool", f"expected a condition of dtype bool, got {one.dtype}")
        dtype = one_dtype(inputs[self.conditions :] or inputs)
        expect(not self.whole or is_whole(dtype), f"expected whole numbers, got {dtype}")
        return broadcast_shapes(*shapes), "bool" if self.gives_bool else dtype


_ANY, _COMPARED, _WHOLE = _Dtypes(), _Dtypes(gives_bool=True), _Dtypes(whole=True)
_SIGNED: tuple[Values, ...] = ()
_DIVIDED: tuple[Values, ...] = ("signed", "positive")


def _elementwise(
    name: str,
    value: Callable[..., Any],
    operands: Sequence[str],
    attributes: tuple[Attribute, ...] = (),
    *,
    domain: Domain = "any",
    data: tuple[Values, ...] = _SIGNED,
    linear: Collection[str] = (),
    commutative: bool = False,
    dtypes: _Dtypes = _ANY,
    in_epilogues: bool = True,
    rounds: bool = False,
    contracts: bool = False,
) -> OperatorDef:
    """Of operands of one rank, broadcast on axes of extent 1; attributes follow them by name.

    data      of what kind random operands are, where they are not all signed
    linear    the operands in which it is linear
    """

    def stage(tensors: Sequence[Tensor], given: Attributes) -> Tensor:
        def element(*place: Axis) -> Any:
            reads = (tensor[broadcast_place(place, tensor.shape)] for tensor in tensors)
            return value(*reads, **given)

        shape = broadcast_shapes(*(tensor.shape for tensor in tensors))
        return compute(name, shape, element, axes=axis_names(len(shape)))

    every: AxisPairs = ()
    return OperatorDef(
        name,
        tuple(
            Operand(
                operand,
                values=data[i] if data else "signed",
                linear=every if operand in linear else None,
            )
            for i, operand in enumerate(operands)
        ),
        dtypes.infer,
        stage,
        numpy_reference(name),
        attributes,
        elementwise=in_epilogues,
        values=domain,
        commutative=commutative,
        rounds=rounds,
        contracts=contracts,
    )


_unary = partial(_elementwise, operands=("data",))
_binary = partial(_elementwise, operands=("a", "b"))
_unary_step = partial(_unary, in_epilogues=False)
_binary_step = partial(_binary, in_epilogues=False)
"""In no epilogue: behind a sum they make a jump of its rounding, or their dtypes differ."""

OPERATORS = (
    _unary("identity", lambda x: x, linear={"data"}, contracts=True),
    _unary("relu", lambda x: e.maximum(x, 0.0), contracts=True),
    _unary("neg", lambda x: -x, domain="number", linear={"data"}),
    _unary("abs", e.absolute, domain="number"),
    _unary("exp", e.exp, domain="float"),
    _unary("log", e.log, domain="float", data=("positive",)),
    _unary("sqrt", e.sqrt, domain="float", data=("positive",)),
    _unary("sin", e.sin, domain="float"),
    _unary("cos", e.cos, domain="float"),
    _unary("tanh", e.tanh, domain="float"),
    _unary("erf", e.erf, domain="float"),
    _unary("sigmoid", lambda x: 1.0 / (e.exp(-x) + 1.0), domain="float"),
    _unary("silu", lambda x: x / (e.exp(-x) + 1.0), domain="float"),
    _unary("mish", _mish, domain="float"),
    _unary("gelu_tanh", _gelu_tanh, domain="float"),
    _unary("gelu", lambda x: x * 0.5 * (e.erf(x * _SQRT_HALF) + 1.0), domain="float"),
    _unary(
        "softplus", lambda x: e.maximum(x, 0.0) + e.log1p(e.exp(-e.absolute(x))), domain="float"
    ),
    _unary(
        "hard_swish",
        lambda x: x * e.minimum(e.maximum(x + 3.0, 0.0), 6.0) * (1.0 / 6.0),
        domain="float",
    ),
    _unary(
        "clip",
        _clip,
        attributes=(
            Attribute("min", optional_number, None),
            Attribute("max", optional_number, None),
        ),
        domain="number",
        contracts=True,
    ),
    _unary(
        "leaky_relu",
        lambda x, alpha: e.select(e.lt(x, 0.0), x * alpha, x),
        attributes=(Attribute("alpha", number, 0.01),),
        domain="float",
    ),
    _unary(
        "elu",
        lambda x, alpha: e.select(e.lt(x, 0.0), e.expm1(x) * alpha, x),
        attributes=(Attribute("alpha", number, 1.0),),
        domain="float",
    ),
    _unary(
        "hard_sigmoid",
        lambda x, alpha, beta: e.minimum(e.maximum(x * alpha + beta, 0.0), 1.0),
        attributes=(Attribute("alpha", number, 0.2), Attribute("beta", number, 0.5)),
        domain="float",
    ),
    _binary("add", lambda x, y: x + y, commutative=True, contracts=True),
    _binary("subtract", lambda x, y: x - y, domain="number", contracts=True),
    _binary("multiply", lambda x, y: x * y, linear={"a", "b"}, commutative=True),
    _binary("divide", _divide, domain="number", data=_DIVIDED, linear={"a"}),
    _binary("maximum", e.maximum, commutative=True, contracts=True),
    _binary("minimum", e.minimum, commutative=True, contracts=True),
    _binary("power", e.power, domain="float", data=("positive", "exponent")),
    _binary("prelu", lambda x, slope: e.select(e.lt(x, 0.0), x * slope, x), domain="float"),
    _unary_step("floor", e.floor, domain="float"),
    _unary_step("ceil", e.ceil, domain="float"),
    _unary("round", e.round_, domain="float", rounds=True),
    _unary_step("sign", _sign, domain="number"),
    _binary_step("modulo", _modulo, domain="number", data=_DIVIDED),
    _binary_step("remainder", e.remainder, domain="number", data=_DIVIDED),
    _binary_step("bitwise_and", e.bitwise_and, commutative=True, dtypes=_WHOLE),
    _binary_step("bitwise_or", e.bitwise_or, commutative=True, dtypes=_WHOLE),
    _binary_step("bitwise_xor", e.bitwise_xor, commutative=True, dtypes=_WHOLE),
    _unary_step("bitwise_not", _inverted, dtypes=_WHOLE),
    _binary_step("shift_left", partial(_shifted, e.shift_left), dtypes=_WHOLE),
    _binary_step("shift_right", partial(_shifted, e.shift_right), dtypes=_WHOLE),
    _unary_step("logical_not", e.logical_not, dtypes=_Dtypes(conditions=1)),
    _binary_step("logical_and", e.logical_and, commutative=True, dtypes=_Dtypes(conditions=2)),
    _binary_step("logical_or", e.logical_or, commutative=True, dtypes=_Dtypes(conditions=2)),
    _binary_step("equal", e.eq, commutative=True, dtypes=_COMPARED),
    _binary_step("less", e.lt, domain="number", dtypes=_COMPARED),
    _binary_step("less_equal", e.le, domain="number", dtypes=_COMPARED),
    _elementwise(
        "where",
        e.select,
        operands=("condition", "a", "b"),
        dtypes=_Dtypes(conditions=1),
        in_epilogues=False,
    ),
)
"""`domain` says what is not defined, or not in its own dtype, on bool, or on any whole number."""
