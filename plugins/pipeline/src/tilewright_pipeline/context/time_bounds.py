"""What a strategy's programs cannot be faster than; who cannot beat the best gets no trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilewright.roles import TellsLeastWork
from tilewright.space.config_space import ConfigSpace
from tilewright.strategies.strategy import CountsOperations, strategy_of

if TYPE_CHECKING:
    from tilewright.strategies.strategy import Strategy
    from tilewright.vocabulary.task import Task
    from tilewright_pipeline.context.run_context import RunContext

_MOST_COPIES = 1 << 16  # of a constant, when measured cold
_STORED: Mapping[str, float] = {"bfloat16": 0.5, "float16": 0.5}
"""Of an operand's bytes, what it takes where it is stored in the precision of the products."""


@dataclass(frozen=True, slots=True)
class TimeBounds:
    """The least seconds of a task's strategies, by name; 0 where nothing is certain.

    Operations at the device's peak in what the strategy computes with, and bytes at the bandwidth
    of main memory, as far as they cannot be in a cache. Strategies of fewer operations than the
    direct algorithm's have no bound, but their alternatives where they count operations of their
    own; nor has anything without a measured peak.
    """

    seconds: Mapping[str, float]

    @classmethod
    def of(cls, task: Task, space: ConfigSpace, context: RunContext) -> TimeBounds:
        """Of the strategies that have alternatives in the space."""
        reference = context.host.reference(task.workload.operator)
        if not isinstance(reference, TellsLeastWork):
            return cls({})
        operations = reference.least_operations(task.workload)
        reads = reference.least_reads(task.workload)
        seconds = {}
        for name in dict.fromkeys(strategy_of(each.name) for each in space.alternatives):
            strategy = context.host.strategy(name)
            peak, found = _peak(strategy, task, context), 0.0
            if strategy.direct_error:
                moved = _seconds_of_reads(reads, strategy, task, context)
                found = max(moved, operations / peak if peak else 0.0)
            seconds[name] = found
            implementation = context.host.implementation(name)
            if peak and not strategy.direct_error and isinstance(implementation, CountsOperations):
                for each in space.alternatives:
                    if strategy_of(each.name) == name:
                        own = implementation.operations_of(task, each.name)
                        seconds[each.name] = own / peak
        return cls(seconds)

    def promising(
        self, space: ConfigSpace, best_seconds: float | None, best_strategy: str | None
    ) -> ConfigSpace:
        """The space without the alternatives that cannot beat the best; itself where none is so.

        A best that is faster than its own bound tells that the device can do more than its peak
        says: then that bound is the measure.
        """
        if best_seconds is None or best_strategy is None:
            return space
        measure = max(best_seconds, self._least(best_strategy))
        kept = [each for each in space.alternatives if self._least(each.name) <= measure]
        return ConfigSpace(kept) if 0 < len(kept) < len(space.alternatives) else space

    def _least(self, alternative: str) -> float:
        of_strategy = self.seconds.get(strategy_of(alternative), 0.0)
        return self.seconds.get(alternative, of_strategy)


def _peak(strategy: Strategy, task: Task, context: RunContext) -> float | None:
    """Operations a second that nothing exceeds which the strategy may compute with."""
    device, threads = context.device, task.target.threads
    if strategy.arithmetic:
        return device.peak(strategy.arithmetic, threads)
    own = device.peak(strategy.precision_of(task), threads)
    return None if own is None else max(own, device.peak("float32", threads) or 0.0)


def _seconds_of_reads(
    reads: Sequence[int], strategy: Strategy, task: Task, context: RunContext
) -> float:
    """At the bandwidth of main memory, what the last-level cache cannot hold between launches.

    Cold constants have copies that take turns and fill the cache twice, so that of each a part
    may still be there.
    """
    device = context.device
    bandwidth = device.bandwidth.get(task.target.threads)
    cache = device.cache_bytes
    if not bandwidth or not cache:
        return 0.0
    stored = _STORED.get(strategy.precision, 1.0)
    cold = context.conditions.for_task(task).constants != "warm"
    constants, others = 0.0, 0.0
    for spec, size in zip(task.workload.inputs, reads, strict=True):
        if cold and spec.role == "constant":
            constants += stored * size
        else:
            others += stored * size
    copies = min(2 * cache + constants, _MOST_COPIES * constants)
    missing = constants * max(0.0, 1 - cache / copies) if copies else 0.0
    return (missing + max(0.0, others - cache)) / bandwidth
