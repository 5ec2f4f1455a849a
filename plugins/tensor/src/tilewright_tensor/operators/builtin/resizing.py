"""Images at places between their elements: at those of another size, or at given ones.

By the nearest element, linearly between two, or cubically among four along an axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

from tilewright_tensor.expressions.affine import divided
from tilewright_tensor.expressions.dtype import is_float
from tilewright_tensor.expressions.expr import (
    cast,
    floor,
    le,
    logical_and,
    lt,
    round_,
    select,
)
from tilewright_tensor.expressions.lookup import lookup
from tilewright_tensor.ir.dag import compute
from tilewright_tensor.operators.definition.attribute import (
    Attribute,
    Attributes,
    flag,
    integers,
    number,
    text,
)
from tilewright_tensor.operators.definition.operator_def import (
    Inputs,
    Operand,
    OperatorDef,
    expect,
    numpy_reference,
)
from tilewright_tensor.operators.definition.places import axis_names

if TYPE_CHECKING:
    from tilewright_tensor.expressions.affine import Affine, Index
    from tilewright_tensor.expressions.expr import Value
    from tilewright_tensor.expressions.tensor import Axis, Tensor


_BEND = -0.75
"""Of cubics, as in ONNX and PyTorch."""


def _one_of(*choices: str) -> Callable[[Any], str]:
    def canonical(value: Any) -> str:
        if text(value) not in choices:
            raise ValueError(f"expected one of {', '.join(choices)}, got {value!r}")
        return str(value)

    return canonical


def _infer(inputs: Inputs, attributes: Attributes) -> tuple[tuple[int, ...], str]:
    data, shape = inputs[0], attributes["shape"]
    expect(len(shape) == len(data.shape), f"expected a shape of {len(data.shape)} numbers")
    expect(
        attributes["mode"] == "nearest" or is_float(data.dtype),
        f"expected floats to be {attributes['mode']} between, got {data.dtype}",
    )
    return tuple(shape), data.dtype


def _source(axis: Axis, extent: int, coordinates: str) -> tuple[Affine, int]:
    """Where an element of the result lies in the data: the quotient of an index and a number."""
    size = axis.extent
    if coordinates == "half_pixel":
        return axis * (2 * extent) + (extent - size), 2 * size
    if coordinates == "align_corners":
        return axis * (extent - 1), max(size - 1, 1)
    return axis * extent, size


def _nearest(source: Affine, divisor: int, rounding: str) -> tuple[Affine, int]:
    """What to divide, rounding down, so that the quotient is rounded as wanted."""
    if rounding in ("floor", "ceil"):
        return source + (divisor - 1 if rounding == "ceil" else 0), divisor
    return source * 2 + divisor - (rounding == "round_prefer_floor"), 2 * divisor


def _cubic_weights(share: Value, bend: float) -> tuple[Value, ...]:
    """Of the four elements around a place that is behind the second by a share of a step.

    Keys, "Cubic convolution interpolation for digital image processing", 1981.
    """
    other = 1.0 - share
    near = [((bend + 2) * x - (bend + 3)) * x * x + 1.0 for x in (share, other)]
    far = [((bend * x - 2 * bend) * x + bend) * x for x in (share, other)]
    return far[0], near[0], near[1], far[1]


def _compute(tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
    data, shape, mode = tensors[0], attributes["shape"], attributes["mode"]

    def element(*place: Axis) -> Value:
        bounds = {axis.var: (0, axis.extent - 1) for axis in place}

        def value(*at: Index) -> Value:
            """The element at a place whose first indexes are the data's already."""
            if len(at) == len(place):
                return data[at]
            axis, extent = place[len(at)], data.shape[len(at)]
            if axis.extent == extent:
                return value(*at, axis)
            source, divisor = _source(axis, extent, attributes["coordinates"])
            if mode == "nearest":
                source, divisor = _nearest(source, divisor, attributes["rounding"])
            low, rest = divided(source, divisor, bounds)
            if mode == "cubic":
                share = cast(rest, data.dtype) * (1.0 / divisor)
                weights = _cubic_weights(share, attributes["bend"])
                terms = [
                    value(*at, lookup(low + step, extent)) * weight
                    for step, weight in zip((-1, 0, 1, 2), weights, strict=True)
                ]
                return terms[0] + terms[1] + terms[2] + terms[3]
            found, end = value(*at, low), extent
            if mode == "linear":
                share = cast(rest, data.dtype) * (1.0 / divisor)
                found, end = found + (value(*at, low + 1) - found) * share, extent - 1
            least, greatest = low.range(bounds)
            if greatest >= end:
                found = select(lt(low, end), found, value(*at, extent - 1))
            return select(le(0, low), found, value(*at, 0)) if least < 0 else found

        return value()

    return compute("resize", shape, element, axes=axis_names(len(shape)))


def _sample_infer(inputs: Inputs, attributes: Attributes) -> tuple[tuple[int, ...], str]:
    data, grid = inputs
    axes = len(data.shape) - 2
    expect(
        axes in (2, 3) and len(grid.shape) == len(data.shape),
        f"expected data and grid of rank 4 or 5, got {list(data.shape)} and {list(grid.shape)}",
    )
    expect(
        grid.shape[0] == data.shape[0] and grid.shape[-1] == axes,
        f"expected a grid [{data.shape[0]}, ..., {axes}], got {list(grid.shape)}",
    )
    expect(
        is_float(data.dtype) and is_float(grid.dtype),
        f"expected floats, got {data.dtype} and {grid.dtype}",
    )
    expect(axes == 2 or attributes["mode"] != "cubic", "cubic is for two axes")
    return (*data.shape[:2], *grid.shape[1:-1]), data.dtype


def _sample_compute(tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
    """Places are from -1 to 1 along each axis, the last axis first in the grid.

    They are computed in float64: beside an element, what float32 has left is a coarse share.
    """
    data, grid = tensors
    extents, is_zero = data.shape[2:], attributes["padding"] == "zeros"
    aligned = attributes["align_corners"]

    def element(image: Axis, channel: Axis, *place: Axis) -> Value:
        def value(found: tuple[Index, ...], inside: tuple[Value, ...]) -> Value:
            """What is at a place, of which the first axes are known."""
            axis = len(found)
            if axis == len(extents):
                one = data[(image, channel, *found)]
                return select(logical_and(*inside), one, 0.0) if is_zero else one
            extent, given = extents[axis], grid[(image, *place, len(extents) - 1 - axis)]
            source = (cast(given, "float64") + 1.0) * (0.5 * (extent - 1 if aligned else extent))
            source = source if aligned else source - 0.5
            terms = []
            for at, weight in _taps(source, attributes["mode"], data.dtype):
                if attributes["padding"] == "reflection":
                    at = _reflected(at, extent, aligned=aligned)  # noqa: PLW2901
                within = (le(0, at), lt(at, extent)) if is_zero else ()
                term = value((*found, lookup(at, extent)), (*inside, *within))
                terms.append(term if weight is None else term * weight)
            return reduce(add, terms)

        return value((), ())

    shape = (*data.shape[:2], *grid.shape[1:-1])
    return compute("grid_sample", shape, element, axes=axis_names(len(shape)))


def _taps(source: Value, mode: str, dtype: str) -> list[tuple[Value, Value | None]]:
    """Places of the elements around one along an axis, and the weight of each."""
    if mode == "nearest":
        return [(cast(round_(source), "int64"), None)]
    low = floor(source)
    first, share = cast(low, "int64"), cast(source - low, dtype)
    if mode == "linear":
        return [(first, 1.0 - share), (first + 1, share)]
    weights = _cubic_weights(share, _BEND)
    return [(first + step, weight) for step, weight in zip((-1, 0, 1, 2), weights, strict=True)]


def _reflected(at: Value, extent: int, *, aligned: bool) -> Value:
    """The place within that lies as far from an end: the outermost elements, or their edges."""
    period = max(1, 2 * (extent - 1)) if aligned else 2 * extent
    rest = at % period
    return select(lt(rest, extent), rest, (period if aligned else period - 1) - rest)


OPERATORS = (
    OperatorDef(
        "resize",
        (Operand("data"),),
        _infer,
        _compute,
        numpy_reference("resize"),
        (
            Attribute("shape", integers),
            Attribute("mode", _one_of("nearest", "linear", "cubic"), "nearest"),
            Attribute(
                "coordinates", _one_of("asymmetric", "half_pixel", "align_corners"), "asymmetric"
            ),
            Attribute(
                "rounding",
                _one_of("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"),
                "floor",
            ),
            Attribute("bend", number, _BEND, since="0.2"),
        ),
    ),
    # what shares are rounded to shows where terms cancel: the definition is its own reference
    OperatorDef(
        "grid_sample",
        (Operand("data"), Operand("grid")),
        _sample_infer,
        _sample_compute,
        attributes=(
            Attribute("mode", _one_of("nearest", "linear", "cubic"), "linear"),
            Attribute("padding", _one_of("zeros", "border", "reflection"), "zeros"),
            Attribute("align_corners", flag, False),
        ),
    ),
)
