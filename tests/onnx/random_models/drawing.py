"""What rules draw nodes with. A rule draws one node for a model, or None where nothing fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Drawn:
    """A node that may be added to a model.

    operands   tensors; None leaves an optional one out
    exact      whether exact operands give an exact result
    """

    kind: str
    operands: tuple[Any, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    exact: bool = False
    outputs: int = 1


RULES: list[Callable[[Any], Drawn | None]] = []


def rule(times: int) -> Callable[[Any], Any]:
    """Registers a rule that is drawn so many times as often as one of weight 1."""

    def register(function: Callable[[Any], Drawn | None]) -> Callable[[Any], Drawn | None]:
        RULES.extend([function] * times)
        return function

    return register


def is_float(tensor: Any) -> bool:
    return tensor.is_float


def is_number(tensor: Any) -> bool:
    return tensor.dtype != "bool"


def is_exact(tensor: Any) -> bool:
    return tensor.exact


def has_rank(*ranks: int) -> Callable[[Any], bool]:
    return lambda tensor: len(tensor.shape) in ranks


def lies_in(low: float, high: float, least: float = 0.0) -> Callable[[Any], bool]:
    """Whether all values lie between bounds and none is nearer to 0 than `least`."""
    return lambda t: bool(
        t.value.min() >= low and t.value.max() <= high and np.abs(t.value).min() >= least
    )


def axis_of(model: Any, tensor: Any) -> int:
    """A random axis, counted from either end."""
    rank = len(tensor.shape)
    return model.random.randrange(-rank, rank)


def axes_of(model: Any, tensor: Any) -> list[int]:
    rank = len(tensor.shape)
    chosen = model.random.sample(range(rank), model.random.randint(1, rank))
    return [axis - rank if model.random.random() < 0.3 else axis for axis in chosen]


def partner(model, first, *conditions):
    """A tensor or constant of the same dtype that is broadcast with another one."""

    def fits(other):
        pairs = zip(reversed(first.shape), reversed(other.shape), strict=False)
        return other.dtype == first.dtype and all(1 in pair or len({*pair}) == 1 for pair in pairs)

    if model.random.random() < 0.5:
        return model.pick(fits, *conditions)
    kept = first.shape[model.random.randint(0, len(first.shape)) :]
    shape = [1 if model.random.random() < 0.3 else extent for extent in kept]
    value = model.values(shape, first.dtype)
    return model.constant(value)


def with_axes(model, kind, data, axes, *, since=13, **attributes):
    """A node whose axes are an attribute or, since an opset, an operand."""
    if model.opset < since:
        return Drawn(kind, (data,), {"axes": axes, **attributes}, exact=True)
    operand = model.constant(np.array(axes, np.int64))
    return Drawn(kind, (data, operand), attributes, exact=True)
