"""Shapes and types of a model's inputs, dynamic dimensions taken from what the user gives."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.errors import UsageError
from tilewright.sizes import check_shape


def input_shapes(
    name: str, inputs: Sequence[Any], given: Mapping[str, Sequence[int]]
) -> dict[str, tuple[tuple[int, ...], str]]:
    """(shape, dtype) of each input by name. Raises UsageError, with the model's name as place.

    given   sizes by input name; those of inputs that the model does not have are another model's
    """
    found = {}
    for value in inputs:
        dtype, dims = _dtype(name, value), dimensions_of(value)
        if value.name in given:
            shape = _agreed(name, value.name, dims, given[value.name])
        elif dims is None or not all(map(_is_fixed, dims)):
            raise _without_sizes(name, value.name, inputs, given)
        else:
            shape = tuple(map(int, dims))
        try:
            check_shape(shape, dtype)
        except UsageError as error:
            raise error.within(f"{name}: input {value.name!r}") from None
        found[value.name] = shape, dtype
    return found


def _dtype(name: str, value: Any) -> str:
    from onnx import helper

    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        problem = f"input {value.name!r} is a {kind or 'value of no type'}; expected a tensor"
        raise UsageError(problem, where=name)
    code = value.type.tensor_type.elem_type
    try:
        return str(helper.tensor_dtype_to_np_dtype(code))
    except KeyError:
        problem = f"input {value.name!r}: there is no data type {code}"
        raise UsageError(problem, where=name) from None


UNNAMED = "?"
"""A dynamic dimension without a name."""


def dimensions_of(value: Any) -> list[int | str] | None:
    """What a model says of a shape, if anything; dynamic dimensions are names, or negative."""
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    return [
        dim.dim_value if dim.HasField("dim_value") else dim.dim_param or UNNAMED
        for dim in tensor.shape.dim
    ]


def _is_fixed(dimension: int | str) -> bool:
    return isinstance(dimension, int) and dimension >= 0


def _agreed(
    name: str, tensor: str, dims: Sequence[int | str] | None, given: Sequence[int]
) -> tuple[int, ...]:
    if min(given, default=1) < 1:
        raise UsageError(
            f"shapes: input {tensor!r} was given {list(given)}",
            where=name,
            remedy="every size is a whole number from 1",
        )
    if dims is not None:
        fits = len(given) == len(dims) and all(
            not _is_fixed(d) or d in (g, 0) for d, g in zip(dims, given, strict=True)
        )
        if not fits:
            raise UsageError(
                f"shapes: input {tensor!r} is {dims}, got {list(given)}",
                where=name,
                remedy="give every dimension, fixed ones as they are",
            )
    return tuple(given)


def _without_sizes(
    name: str, tensor: str, inputs: Sequence[Any], given: Mapping[str, Sequence[int]]
) -> UsageError:
    """The dynamic dimensions of an input, and the option to write for all such inputs."""
    every = {value.name: dimensions_of(value) for value in inputs}
    dims, problem, by_name = every[tensor], f"input {tensor!r} has no shape", ""
    if dims is not None:
        axis = next(axis for axis, dim in enumerate(dims) if not _is_fixed(dim))
        problem = f"input {tensor!r}: dimension {axis} ({dims[axis]}) is dynamic"
        if isinstance(dims[axis], str) and dims[axis] != UNNAMED:
            by_name = f"give it a size, or a range: --dim {dims[axis]}=1..8; or "
    if others := [repr(one) for one in given if one not in every]:
        there = ", ".join(map(repr, every))
        problem += f", and shapes names {', '.join(others)}; the inputs are {there}"
    examples = {
        one: [1, 3, 224, 224] if dims is None else [d if _is_fixed(d) else 1 for d in dims]
        for one, dims in every.items()
        if one not in given and (dims is None or not all(map(_is_fixed, dims)))
    }
    shapes = json.dumps(examples)
    return UsageError(
        problem,
        where=name,
        remedy=(
            f"{by_name}give it a value: --set 'import.shapes={shapes}'; in a file import: "
            f"{{shapes: {shapes}}}; in Python compile({{'model': ..., 'shapes': {shapes}}})"
        ),
    )
