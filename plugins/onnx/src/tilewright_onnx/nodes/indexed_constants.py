"""Operators on constants that find elements by index or by value, computed by numpy.

ONNX's reference takes them one at a time, or not those that ONNX says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tilewright_onnx.model.node_site import NodeSite


def _gather_elements(site: NodeSite, data: Any, indices: Any) -> Sequence[Any]:
    return [data[_places_along(site.attribute("axis", 0), indices)]]


def _gather_nd(site: NodeSite, data: Any, indices: Any) -> Sequence[Any]:
    batch = np.indices(indices.shape[:-1], sparse=True)[: site.attribute("batch_dims", 0)]
    return [data[(*batch, *np.moveaxis(indices, -1, 0))]]


def _scatter_elements(site: NodeSite, data: Any, indices: Any, updates: Any) -> Sequence[Any]:
    places = _places_along(site.attribute("axis", 0), indices)
    return _scattered(site, data, places, updates, indices.shape)


def _scatter_nd(site: NodeSite, data: Any, indices: Any, updates: Any) -> Sequence[Any]:
    shape = (*indices.shape[:-1], *data.shape[indices.shape[-1] :])
    return _scattered(site, data, tuple(np.moveaxis(indices, -1, 0)), updates, shape)


def _places_along(axis: int, indices: Any) -> tuple[Any, ...]:
    """For each index its own place, but for the axis, along which it is the place."""
    places = list(np.indices(indices.shape, sparse=True))
    places[axis] = indices
    return tuple(places)


def _scattered(
    site: NodeSite, data: Any, places: tuple[Any, ...], updates: Any, shape: tuple[int, ...]
) -> Sequence[Any]:
    """The data with the updates, which have to be of the shape, put or reduced into the places."""
    if updates.shape != shape:
        raise ValueError(f"updates are {list(updates.shape)}; expected {list(shape)}")
    made, reduction = data.copy(), site.attribute("reduction", "none")
    if reduction == "none":
        made[places] = updates
    else:
        _REDUCTIONS[reduction].at(made, places, updates)
    return [made]


_REDUCTIONS = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def _unique(site: NodeSite, data: Any) -> Sequence[Any]:
    """In order, or as they are found first where `sorted` is 0."""
    axis = site.attribute("axis")
    data = data.ravel() if axis is None else data
    _, first, inverse, counts = np.unique(data, True, True, True, axis)
    inverse = inverse.ravel()
    if not site.attribute("sorted", 1):
        order = np.argsort(first)
        first, inverse, counts = first[order], np.argsort(order)[inverse], counts[order]
    return [np.take(data, first, axis or 0), first, inverse, counts]


BY_NUMPY: Mapping[str, Callable[..., Sequence[Any]]] = {
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "Unique": _unique,
}
"""Of the node and its operands, all outputs in order. An index that is none is an IndexError."""
