"""Sum, mean, product, largest and smallest over some axes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING

from tilewright_tensor.ir.dag import (
    compute,
    reduce_axis,
    reduce_max,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from tilewright_tensor.operators.definition.attribute import (
    Attribute,
    Attributes,
    axis_set,
    flag,
    integers,
)
from tilewright_tensor.operators.definition.operator_def import (
    Domain,
    Operand,
    OperatorDef,
    expect,
    numpy_reference,
)
from tilewright_tensor.operators.definition.places import axis_names

if TYPE_CHECKING:
    from tilewright_tensor.expressions.tensor import Axis, Tensor
    from tilewright_tensor.ir.dag import Reduction


def _axes(shape: Sequence[int], attributes: Attributes) -> set[int]:
    rank = len(shape)
    axes = attributes["axes"] or range(rank)
    expect(
        rank > 0 and all(-rank <= axis < rank for axis in axes),
        f"axes {list(axes)} do not all exist in rank {rank}",
    )
    return {axis % rank for axis in axes}


def _shape(shape: Sequence[int], attributes: Attributes) -> tuple[int, ...]:
    axes, keep = _axes(shape, attributes), attributes["keepdims"]
    return tuple(1 if d in axes else n for d, n in enumerate(shape) if keep or d not in axes)


def _compute(name: str, tensors: Sequence[Tensor], attributes: Attributes) -> Tensor:
    data = tensors[0]
    axes, shape = _axes(data.shape, attributes), _shape(data.shape, attributes)
    reduced = {d: reduce_axis(data.shape[d], f"r{d}") for d in sorted(axes)}
    mean = name == "reduce_mean"

    def element(*place: Axis) -> Reduction:
        kept = (axis for d, axis in enumerate(place) if not (attributes["keepdims"] and d in axes))
        source = tuple(reduced[d] if d in reduced else next(kept) for d in range(len(data.shape)))
        return _OTHERS.get(name, reduce_sum)(data[source], *reduced.values())

    names = axis_names(len(shape))
    total = compute("axes_sum" if mean else name, shape, element, axes=names)
    if not mean:
        return total
    count = prod(axis.extent for axis in reduced.values())
    return compute(name, shape, lambda *place: total[place] / count, axes=names)


_OTHERS = {"reduce_prod": reduce_prod, "reduce_max": reduce_max, "reduce_min": reduce_min}
_DOMAINS: dict[str, Domain] = {
    "reduce_sum": "number",
    "reduce_mean": "float",
    "reduce_prod": "number",
    "reduce_max": "any",
    "reduce_min": "any",
}

OPERATORS = tuple(
    OperatorDef(
        name,
        (Operand("data"),),
        lambda inputs, attributes: (_shape(inputs[0].shape, attributes), inputs[0].dtype),
        partial(_compute, name),
        numpy_reference(name),
        (Attribute("axes", integers, [], axis_set), Attribute("keepdims", flag, True)),
        values=values,
    )
    for name, values in _DOMAINS.items()
)
