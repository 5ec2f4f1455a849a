"""Elements of a tensor at places along an axis, known or computed when the network runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tilewright_onnx.model.node_site import NodeSite


def selected(site: NodeSite, tensor: str, axis: int, places: Sequence[int]) -> str:
    """The tensor at known places along an axis: one kernel, a slice where they are evenly apart."""
    apart = {places.step} if isinstance(places, range) else set(np.unique(np.diff(places))) or {1}
    if len(apart) > 1 or 0 in apart:
        return site.emit("take", tensor, site.constant(np.asarray(places, np.int64)), axis=axis)
    end = places[-1] + (1 if places[-1] >= places[0] else -1)
    cut = slice(int(places[0]), int(end) if end >= 0 else None, int(apart.pop()))
    return site.emit("slice", tensor, **slicing(site.shape(tensor), {axis: cut}))


def slicing(shape: Sequence[int], cuts: Mapping[int, slice]) -> dict[str, list[int]]:
    """Attributes of a slice that takes these parts of some axes, and the others whole."""
    found: dict[str, list[int]] = {"begin": [], "end": [], "strides": []}
    for axis, extent in enumerate(shape):
        begin, end, step = cuts[axis].indices(extent) if axis in cuts else (0, extent, 1)
        # what runs backwards through the first element ends before it: -1 would be the last one
        for name, number in zip(
            found, (begin, end if end >= 0 else -extent - 1, step), strict=True
        ):
            found[name].append(number)
    return found


def gather(site: NodeSite) -> None:
    """One kernel: a slice where indexes are known and evenly apart, else each is looked up."""
    shape = site.spec(0).shape
    axis = site.attribute("axis", 0) % len(shape)
    extent = shape[axis]
    if not site.is_known(1):
        site.finish("take", site.tensor(0), site.tensor(1), axis=axis)
        return
    indices = site.value(1)
    if not indices.size:
        whole = (*shape[:axis], *indices.shape, *shape[axis + 1 :])
        site.know(site.outputs[0], np.zeros(whole, site.spec(0).dtype))
        return
    if not (-extent <= indices.min() <= indices.max() < extent):
        raise site.error(f"Gather of an element outside axis {axis}, which has {extent}")
    result = selected(site, site.tensor(0), axis, indices.ravel() % extent)
    site.finish("reshape", result, shape=[*shape[:axis], *indices.shape, *shape[axis + 1 :]])
