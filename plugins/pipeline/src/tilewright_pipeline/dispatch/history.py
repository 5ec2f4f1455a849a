"""Which records count in a run, and what they say of a task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilewright.vocabulary.record import Query

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.roles import Count, Ranked, RecordStore
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.device import Device
    from tilewright.vocabulary.measure import Conditions, Failure, MeasureInput
    from tilewright.vocabulary.record import Record
    from tilewright.vocabulary.task import Task

Where = Callable[["ConfigEntity"], bool]


@dataclass(frozen=True, eq=False)
class History:
    """The records of a store that count on a device, under conditions, of installed strategies.

    strategies  glob over the names of alternatives; see `narrowed`

    What it says of a task is what the store answers to `query`; `where` says which configs count
    in place of `strategies`.
    """

    store: RecordStore
    host: PluginHost
    device: Device
    conditions: Conditions
    strategies: str = "*"

    def narrowed(self, task: Task) -> str:
        """The glob that holds for a task: `*` where `strategies` leaves it no alternative."""
        if self.strategies == "*" or self.host.space_within(task, self.strategies) is None:
            return "*"
        return self.strategies

    def query(self, task: Task, where: Where | None = None) -> Query:
        """What the store is asked of a task."""
        conditions = self.conditions.for_workload(task.workload)
        where = where or self._own(task)
        return Query(task, conditions, self.device.fingerprint, self.host.revisions, where)

    def counts(self, measured: MeasureInput) -> bool:
        """Whether it was measured under the conditions that hold for its task."""
        wanted = self.conditions.for_workload(measured.task.workload)
        return measured.conditions.constants == wanted.constants

    def best(self, task: Task, where: Where | None = None) -> Record | None:
        return self.store.best(self.query(task, where))

    def kin(self, task: Task, where: Where | None = None) -> Record | None:
        """The best of the other tasks that differ in their epilogue only."""
        return self.store.best_of_anchor(self.query(task, where))

    def ranked(self, task: Task, where: Where | None = None) -> Iterator[Ranked]:
        return self.store.ranked(self.query(task, where))

    def failed(self, task: Task, where: Where | None = None) -> dict[ConfigEntity, Failure]:
        return self.store.failed(self.query(task, where))

    def count(self, task: Task) -> Count:
        return self.store.count(self.query(task))

    def _own(self, task: Task) -> Where:
        pattern = self.narrowed(task)
        if pattern == "*":
            return lambda config: self.host.permits(config.strategy)
        return lambda config: (
            self.host.selects(pattern, config.strategy) and self.host.permits(config.strategy)
        )
