"""SSD: a detector of objects."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from tilewright_graph.frontends.zoo.layers import Layers
from tilewright_graph.frontends.zoo.resnet import resnet_stages
from tilewright_graph.network.network import Network

CLASSES = 21
"""Those of Pascal VOC, the first of them the background."""

_MORE = (512, 512, 256, 256)
"""Channels of the further scales."""

_EDGES = (0.1, 0.2, 0.37, 0.54, 0.71, 0.88, 0.96)
"""Of a box of each scale, and of one more, as shares of the image's."""

_FEW, _MANY = (1, 2, 1 / 2), (1, 2, 1 / 2, 3, 1 / 3)
_RATIOS = (_FEW, _MANY, _MANY, _MANY, _FEW, _FEW)
"""Width over height of the boxes of each scale."""

_VARIANCES = (0.1, 0.2)
"""Of a box's centre and of its extents: what offsets are given in."""

_MOST, _OVERLAP, _LEAST = 100, 0.45, 0.01
"""Of the boxes of a class: how many are kept, how far they may overlap, what they have to score."""


def ssd(layers: Layers) -> Network:
    """Boxes [batch, boxes, (left, top, right, bottom)] in pixels, their classes' scores, and rows.

    Each row (image, class without the background, box) is one that is kept: at most 100 of a class
    that score more than 0.01 and overlap none that scores more. The logits stay observed, and so do
    the scores that suppression reads. Liu et al., "SSD: Single Shot MultiBox Detector", 2015, on a
    ResNet-50, with the scales, boxes and thresholds of GluonCV's `ssd_512_resnet50_v1_voc`.
    """
    b, maps = layers.builder, _maps(layers)
    offsets, scores = [], []
    for x, ratios in zip(maps, _RATIOS, strict=True):
        count = len(ratios) + 1
        offsets.append(_by_box(layers, x, count, 4))
        scores.append(_by_box(layers, x, count, CLASSES))
    logits = b.concat(*scores, axis=1)
    anchors = _anchors([b.specs[x].shape[2] for x in maps], layers.size)
    boxes = _decoded(layers, b.concat(*offsets, axis=1), anchors)
    shares = b.softmax(logits)
    things = b.slice(shares, begin=[0, 0, 1], end=list(b.specs[shares].shape))
    by_class = b.transpose(things, axes=[0, 2, 1])
    kept = b.non_max_suppression(
        boxes, by_class, max_boxes=_MOST, iou_threshold=_OVERLAP, score_threshold=_LEAST
    )
    return b.network([boxes, shares, kept], observed=[logits, by_class])


def _maps(layers: Layers) -> list[str]:
    """Feature maps, each of half the size of the one before."""
    maps = resnet_stages(50, layers)[2:]
    for channels in _MORE:
        maps.append(layers.unit(layers.unit(maps[-1], channels, 1), channels, 3, 2))
    return maps


def _by_box(layers: Layers, x: str, count: int, values: int) -> str:
    """So many values of each of so many boxes a place: [batch, boxes, values]."""
    b = layers.builder
    x = b.transpose(layers.convolution(x, count * values, 3, gain=1, bias=True), axes=[0, 2, 3, 1])
    return b.reshape(x, shape=(layers.batch, prod(b.specs[x].shape[1:]) // values, values))


def _anchors(sizes: list[int], image: int) -> Any:
    """(x, y, width, height) of the box around every place, in the order of `_by_box`; float32."""
    rows = []
    for size, (edge, next_edge), ratios in zip(sizes, pairwise(_EDGES), _RATIOS, strict=True):
        between = (edge * next_edge) ** 0.5
        shapes = [(edge, edge), (between, between)]
        shapes += [(edge * ratio**0.5, edge / ratio**0.5) for ratio in ratios[1:]]
        centres = (np.arange(size) + 0.5) / size
        y, x, shape = np.meshgrid(centres, centres, range(len(shapes)), indexing="ij")
        rows.append(np.concatenate([x[..., None], y[..., None], np.array(shapes)[shape]], axis=-1))
    return np.concatenate([row.reshape(-1, 4) for row in rows]).astype(np.float32) * image


def _decoded(layers: Layers, offsets: str, anchors: Any) -> str:
    """Corners of boxes that lie so far from the anchors."""
    b, shape = layers.builder, layers.builder.specs[offsets].shape
    centre, extent = anchors[None, :, :2], anchors[None, :, 2:]
    near, far = _VARIANCES
    moved = b.slice(offsets, begin=[0, 0, 0], end=[*shape[:2], 2])
    middle = b.add(b.multiply(moved, _constant(layers, extent * near)), _constant(layers, centre))
    scaled = b.slice(offsets, begin=[0, 0, 2], end=[*shape[:2], 4])
    scaled = b.multiply(scaled, _constant(layers, np.full((1, 1, 1), far)))
    half = b.multiply(b.exp(scaled), _constant(layers, extent / 2))
    return b.concat(b.subtract(middle, half), b.add(middle, half), axis=2)


def _constant(layers: Layers, values: Any) -> str:
    return layers.builder.constant(values.astype(np.float32), "anchors")
