"""What a layout transform without a record will take: fitted to those that have one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from math import prod

import numpy as np

from tilewright.vocabulary.task import Task
from tilewright_graph.extraction.transforms import TRANSFORM
from tilewright_graph.selection.candidates import context_of, estimated_seconds
from tilewright_pipeline.context.run_context import RunContext
from tilewright_tensor.expressions.dtype import ITEM_BYTES
from tilewright_tensor.layouts.layout import Layout


@dataclass(frozen=True, slots=True)
class Line:
    """seconds = `start` + `per_byte` x bytes that are read and written."""

    start: float
    per_byte: float

    def __call__(self, size: int) -> float:
        return self.start + self.per_byte * size

    @classmethod
    def fit(cls, points: Iterable[tuple[int, float]]) -> Line | None:
        """The line with the least squares of relative errors, neither part of it negative.

        None for fewer than two sizes.
        """
        sizes, seconds = (np.array(column, float) for column in zip(*points, strict=True))
        if len(set(sizes)) < 2:
            return None
        terms = np.stack([np.ones_like(sizes), sizes], axis=1) / seconds[:, None]
        start, per_byte = np.linalg.lstsq(terms, np.ones_like(seconds), rcond=None)[0]
        if start >= 0 and per_byte >= 0:
            return cls(float(start), float(per_byte))
        alone = terms[:, int(start < 0)]
        one = float(alone.sum() / (alone @ alone))
        return cls(0.0, one) if start < 0 else cls(one, 0.0)


class TransformPrices:
    """Seconds of any transform of a target, from the records of a few.

    >>> prices = TransformPrices.of(context)
    >>> prices(task)

    A family is a pair of layouts (`NCHW` to `NCHW16c`); where it has too few records, all that
    differ from it in the sizes of blocks; then all transforms; then an estimate from the device's
    bandwidth.

    fitted  whether any record is behind it
    """

    def __init__(
        self, measured: Iterable[tuple[Task, float]], estimate: Callable[[Task], float]
    ) -> None:
        points: dict[Hashable, list[tuple[int, float]]] = defaultdict(list)
        for task, seconds in measured:
            for family in _families(task):
                points[family].append((moved_bytes(task), seconds))
        self.fitted = bool(points)
        self._lines = {family: Line.fit(own) for family, own in points.items()}
        self._estimate = estimate

    @classmethod
    def of(cls, context: RunContext) -> TransformPrices:
        """Fitted to the best record of every transform, under the run's conditions."""
        store = context.store
        best = (
            context_of(task, context).history.best(task)
            for task in store.tasks()
            if task.workload.operator == TRANSFORM and task.target == context.target
        )
        measured = [(r.task, r.seconds) for r in best if r is not None and r.seconds is not None]
        return cls(measured, lambda task: estimated_seconds(task, context))

    def __call__(self, task: Task) -> float:
        lines = (self._lines.get(family) for family in _families(task))
        line = next((line for line in lines if line is not None), None)
        return self._estimate(task) if line is None else line(moved_bytes(task))


def family(task: Task) -> tuple[str, str]:
    """The layouts that a transform leads from and to."""
    attributes = task.workload.attributes
    return attributes["src"], attributes["dst"]


def moved_bytes(task: Task) -> int:
    """What a transform reads and writes."""
    (spec,) = task.workload.inputs
    sides = (Layout.parse(text).storage(spec.dtype) for text in family(task))
    return prod(spec.shape) * sum(ITEM_BYTES[dtype] for dtype in sides)


def _families(task: Task) -> tuple[Hashable, ...]:
    """From the narrowest out."""
    own = family(task)
    return own, tuple(_kind(layout) for layout in own) + ("kinds",), "all"


def _kind(layout: str) -> str:
    """A layout without the sizes of its blocks."""
    dims = Layout.parse(layout).dims
    letters = Layout.parse(layout).letters
    return "".join(letters[d.axis].lower() if d.extent else letters[d.axis] for d in dims)
