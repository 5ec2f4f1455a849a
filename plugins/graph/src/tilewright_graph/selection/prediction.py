"""What a network should take: the sum of what its kernels took alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tilewright.roles import Ranked
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.task import Task
from tilewright_graph.extraction.transforms import TRANSFORM
from tilewright_graph.selection.assembly import Call
from tilewright_graph.selection.candidates import estimated_seconds
from tilewright_graph.selection.graph_problem import PROOF_TOLERANCE
from tilewright_graph.selection.transform_prices import TransformPrices
from tilewright_pipeline.context.run_context import RunContext
from tilewright_pipeline.context.time_text import time_text


@dataclass(frozen=True, slots=True)
class Prediction:
    """The sum over all calls, transforms and untuned operators included, before compilation.

    seconds                as records rank configs (see `Ranked`), and estimates without a record
    share_without_record   share of the seconds that is estimated
    failed                 calls whose config failed when it was last measured
    """

    seconds: float
    share_without_record: float
    failed: int = 0

    def __str__(self) -> str:
        failed = f" and {self.failed} calls that failed" if self.failed else ""
        return f"{time_text(self.seconds)}{failed}"

    def beaten_by(self, other: Prediction) -> bool:
        """Whether less of the other failed, or as much and it is faster."""
        limit = other.seconds * (1 + PROOF_TOLERANCE)
        return (other.failed, limit) < (self.failed, self.seconds)


def predict(calls: Iterable[Call], context: RunContext) -> Prediction:
    """The prediction under the run's conditions, from records of this device.

    Transforms without a record count with what the fitted model says.
    """
    prices = TransformPrices.of(context)
    total = estimated = 0.0
    failed = 0
    for (task, config), count in Counter((call.task, call.config) for call in calls).items():
        seconds = recorded_seconds(task, config, context)
        if seconds is None:
            transform = task.workload.operator == TRANSFORM
            seconds = prices(task) if transform else estimated_seconds(task, context)
            estimated += count * seconds
            failed += count * has_failed(task, config, context)
        total += count * seconds
    return Prediction(total, estimated / total if total else 0.0, failed)


def recorded_seconds(task: Task, config: ConfigEntity, context: RunContext) -> float | None:
    """What exactly this config is taken to need by the run's records (see `Ranked`), or None."""
    found = recorded(task, config, context)
    return None if found is None else found.seconds


def recorded(task: Task, config: ConfigEntity, context: RunContext) -> Ranked | None:
    """The last record of exactly this config, with the time that it is taken to need."""
    return next(iter(context.history.ranked(task, config.__eq__)), None)


def unrecorded_transforms(calls: Iterable[Call], context: RunContext) -> Iterator[Call]:
    """The layout transforms whose config no record has."""
    for call in calls:
        transform = call.task.workload.operator == TRANSFORM
        if transform and recorded_seconds(call.task, call.config, context) is None:
            yield call


def has_failed(task: Task, config: ConfigEntity, context: RunContext) -> bool:
    """Whether exactly this config failed when it was last measured."""
    return bool(context.history.failed(task, config.__eq__))
