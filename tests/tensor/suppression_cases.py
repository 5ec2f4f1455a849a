"""Boxes and scores that suppression has to tell apart, drawn with ties and all kinds of overlap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.vocabulary.workload import TensorSpec, Workload
from tilewright_tensor.operators.operators import Operators


@dataclass(frozen=True, slots=True)
class Case:
    """Attributes of an operation as ONNX has them, and how large its operands are.

    digits   of scores: with few of them, many are equal
    corners  whether those of a box are drawn in any order, so that low ones may come last
    """

    images: int
    classes: int
    boxes: int
    most: int
    overlap: float = 0.5
    threshold: float | None = 0.0
    centered: bool = False
    digits: int = 3
    corners: bool = True

    def __str__(self) -> str:
        sizes = f"{self.images}x{self.classes}x{self.boxes}, {self.most}"
        return f"{sizes}, {self.overlap}, {self.threshold}{', centered' * self.centered}"


FEW = (
    Case(1, 1, 1, 1),
    Case(1, 1, 1, 1, threshold=0.9),
    Case(2, 3, 13, 5, overlap=0.3, threshold=0.5),
    Case(1, 2, 17, 17, overlap=0.0, threshold=None),
    Case(1, 2, 17, 17, overlap=1.0, threshold=None),
    Case(1, 1, 19, 7, threshold=1.0),
    Case(2, 1, 31, 6, overlap=0.2, digits=1),
    Case(1, 3, 33, 9, overlap=0.4, threshold=0.2, centered=True),
)
MANY = (
    Case(1, 5, 257, 257, overlap=0.3, threshold=0.5, digits=2),
    Case(2, 2, 1021, 41, overlap=0.45, threshold=0.01),
    Case(1, 3, 1021, 1021, overlap=0.1, threshold=None, centered=True, digits=1),
    Case(3, 1, 515, 30, overlap=0.7, threshold=0.99, corners=False),
)


def drawn(case: Case) -> list[Any]:
    """(boxes, scores): some boxes are points or lines, some the same as another."""
    rng = np.random.default_rng(7)
    shape = (case.images, case.boxes, 4)
    boxes = rng.uniform(0, 1, shape).astype(np.float32)
    if case.centered:
        boxes[..., 2:] *= 0.3
    elif not case.corners:
        boxes[..., 2:] = boxes[..., :2] + boxes[..., 2:] * 0.1
    boxes[:, 3::7, 2] = 0 if case.centered else boxes[:, 3::7, 0]
    boxes[:, 5::7] = boxes[:, 4::7][:, : boxes[:, 5::7].shape[1]]
    scores = rng.uniform(0, 1, (case.images, case.classes, case.boxes))
    return [boxes, np.round(scores, case.digits).astype(np.float32)]


def workload_of(case: Case, operators: Operators) -> Workload:
    """The operation as a workload."""
    shapes = (case.images, case.boxes, 4), (case.images, case.classes, case.boxes)
    attributes = {
        "max_boxes": case.most,
        "iou_threshold": case.overlap,
        "score_threshold": case.threshold,
        "centered": case.centered,
    }
    return operators.workload("non_max_suppression", [*map(TensorSpec, shapes)], attributes)
