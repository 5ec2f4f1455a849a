"""ONNX normalisations as ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

import numpy as np

from tilewright_onnx.model.node_site import NodeSite


def _batch_norm(site: NodeSite) -> None:
    if site.attribute("training_mode", 0):
        raise site.error("BatchNormalization in training mode", "export the model for inference")
    site.finish(
        "batch_norm", *(site.tensor(i) for i in range(5)), epsilon=site.attribute("epsilon", 1e-5)
    )


def _lrn(site: NodeSite) -> None:
    site.finish(
        "lrn",
        site.tensor(0),
        size=site.attribute("size"),
        alpha=site.attribute("alpha", 1e-4),
        beta=site.attribute("beta", 0.75),
        bias=site.attribute("bias", 1.0),
    )


def _layer_norm(site: NodeSite) -> None:
    """Over the axes from `axis` on, which are made one.

    Scale and shift mostly have all of these; others are broadcast to the data, after it.
    """
    shape = site.spec(0).shape
    axis = site.attribute("axis", -1) % len(shape)
    size = prod(shape[axis:])
    rows = site.reshaped(site.tensor(0), (*shape[:axis], size))
    factors = {place: site.spec(place).shape for place in (1, 2) if site.has(place)}
    inside = all(factor == shape[axis:] for factor in factors.values())
    scale, shift = (
        site.reshaped(site.tensor(place), (size,))
        if inside and place in factors
        else site.constant(np.full(size, neutral, site.spec(0).dtype))
        for place, neutral in ((1, 1), (2, 0))
    )
    attributes = {"axis": -1, "epsilon": site.attribute("epsilon", 1e-5)}
    _moments(site, rows, (*shape[:axis], *[1] * (len(shape) - axis)))
    if not inside:
        result = site.reshaped(site.emit("layer_norm", rows, scale, shift, **attributes), shape)
        *before, last = (
            (site.reshaped(site.tensor(place), (*[1] * (len(shape) - len(own)), *own)), operator)
            for (place, own), operator in zip(factors.items(), ("multiply", "add"), strict=False)
        )
        for operand, operator in before:
            result = site.emit(operator, result, operand)
        site.finish(last[1], result, last[0])
    elif site.shape(rows) == shape:
        site.finish("layer_norm", rows, scale, shift, **attributes)
    else:
        normal = site.emit("layer_norm", rows, scale, shift, **attributes)
        site.finish("reshape", normal, shape=list(shape))


def _moments(site: NodeSite, rows: str, shape: tuple[int, ...]) -> None:
    """The further outputs: the mean of each row, and one by its standard deviation."""
    wanted = [place < len(site.outputs) and bool(site.outputs[place]) for place in (1, 2)]
    if not any(wanted):
        return
    if site.spec(0).dtype != "float32":
        raise site.error("moments of LayerNormalization of another dtype than float32")
    mean = site.emit("reduce_mean", rows, axes=[-1])
    if wanted[0]:
        site.give(site.outputs[1], "reshape", mean, shape=list(shape))
    if wanted[1]:
        centred = site.emit("subtract", rows, mean)
        squares = site.emit("multiply", centred, centred)
        variance = site.emit("reduce_mean", squares, axes=[-1])
        epsilon = site.scalar(site.attribute("epsilon", 1e-5), variance)
        deviation = site.emit("sqrt", site.emit("add", variance, epsilon))
        inverse = site.emit("divide", site.scalar(1.0, deviation), deviation)
        site.give(site.outputs[2], "reshape", inverse, shape=list(shape))


def _instance_norm(site: NodeSite) -> None:
    """Every channel of every image is a row of its own; scale and shift follow by channel."""
    shape = site.spec(0).shape
    size = prod(shape[2:])
    ones, zeros = (np.full(size, value, site.spec(0).dtype) for value in (1, 0))
    rows = site.reshaped(site.tensor(0), (prod(shape[:2]), size))
    normal = site.emit(
        "layer_norm",
        rows,
        site.constant(ones),
        site.constant(zeros),
        axis=-1,
        epsilon=site.attribute("epsilon", 1e-5),
    )
    scale, shift = (site.reshaped(site.tensor(i), (1, -1, *[1] * len(shape[2:]))) for i in (1, 2))
    scaled = site.emit("multiply", site.reshaped(normal, shape), scale)
    site.finish("add", scaled, shift)


NORMALISATION_READERS: Mapping[str, Callable[[NodeSite], None]] = {
    "BatchNormalization": _batch_norm,
    "InstanceNormalization": _instance_norm,
    "LRN": _lrn,
    "LayerNormalization": _layer_norm,
}
