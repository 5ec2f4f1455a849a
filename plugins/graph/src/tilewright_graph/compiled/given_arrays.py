"""What a caller gives a compiled network to run on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.errors import UsageError, did_you_mean
from tilewright.vocabulary.workload import TensorSpec
from tilewright_graph.network.network import tensors_text
from tilewright_tensor.expressions.dtype import numpy_type


def given_arrays(inputs: Any, specs: Mapping[str, TensorSpec], where: str) -> dict[str, Any]:
    """The array of every spec; see `by_name`. Raises UsageError for another shape or dtype."""
    return checked_arrays(by_name(inputs, specs, where), specs, where)


def checked_arrays(
    named: Mapping[str, Any], specs: Mapping[str, TensorSpec], where: str
) -> dict[str, Any]:
    """As `given_arrays`, of what `by_name` gave."""
    return {name: _checked(named[name], name, spec, where) for name, spec in specs.items()}


def by_name(inputs: Any, specs: Mapping[str, TensorSpec], where: str) -> Mapping[str, Any]:
    """Arrays by name, of such a mapping, of a list in order, or of the one that there is.

    Raises UsageError where there are others than the specs have.
    """
    # A dict need not ask the abstract class, which takes longer than all that follows.
    mapping = type(inputs) is dict or isinstance(inputs, Mapping)
    named = inputs if mapping else _in_order(inputs, specs, where)
    if named.keys() == specs.keys():
        return named
    for name in named:
        if name not in specs:
            remedy = did_you_mean(str(name), list(specs))
            raise UsageError(f"no input named {name!r}", where=where, remedy=remedy)
    for name in specs:
        if name not in named:
            remedy = f"it takes {tensors_text(specs)}"
            raise UsageError(f"input {name!r} is missing", where=where, remedy=remedy)
    return named


def _in_order(inputs: Any, specs: Mapping[str, TensorSpec], where: str) -> dict[str, Any]:
    """By name: a list or tuple is the inputs in order, anything else is an input."""
    given = inputs if isinstance(inputs, list | tuple) else [inputs]
    if len(given) != len(specs):
        count = len(specs)
        got = "one array" if given is not inputs else f"a list of {len(given)}"
        raise UsageError(
            f"expected {count} input{'s' if count != 1 else ''}, got {got}",
            where=where,
            remedy=f"a list is all inputs in order: {tensors_text(specs)}",
        )
    return dict(zip(specs, given, strict=True))


def as_array(given: Any, name: str, where: str) -> Any:
    """What numpy makes of an input. Raises UsageError where that is no array."""
    try:
        return np.asarray(given)
    except (ValueError, TypeError, RuntimeError) as error:  # ragged lists; tensors that track
        raise UsageError(f"input {name!r} is no array: {error}", where=where) from error


def _checked(given: Any, name: str, spec: TensorSpec, where: str) -> Any:
    if (
        type(given) is np.ndarray
        and given.shape == spec.shape
        and given.dtype == numpy_type(spec.dtype)
        and given.flags.c_contiguous
    ):
        return given
    array = as_array(given, name, where)
    if array.shape != spec.shape or str(array.dtype) != spec.dtype:
        raise UsageError(
            f"input {name!r}: expected {spec}, got {array.dtype}{list(array.shape)}",
            where=where,
            remedy=f"convert it: .astype({spec.dtype!r})" if array.shape == spec.shape else "",
        )
    return np.asarray(array, order="C")  # ascontiguousarray gives a scalar an axis
