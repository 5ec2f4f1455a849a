"""Which records count in a run, and what they say of a task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from heapq import merge
from typing import TYPE_CHECKING

from tilewright.roles import Count, SharesCode
from tilewright.strategies.strategy import strategy_of
from tilewright.vocabulary.record import Query
from tilewright.vocabulary.task import Task

if TYPE_CHECKING:
    from tilewright.host.plugin_host import PluginHost
    from tilewright.roles import Ranked, RecordStore
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.device import Device
    from tilewright.vocabulary.measure import Conditions, Failure, MeasureInput
    from tilewright.vocabulary.record import Record

Where = Callable[["ConfigEntity"], bool]


def equal_tasks(task: Task, host: PluginHost) -> list[Task]:
    """The workload on other targets for which strategies of float32 generate the same code."""
    backend = host.backend(task.target.kind)
    if not isinstance(backend, SharesCode):
        return []
    return [Task(task.workload, target) for target in backend.equal_targets(task)]


@dataclass(frozen=True, eq=False)
class History:
    """The records of a store that count on a device, under conditions, of installed strategies.

    strategies  glob over the names of alternatives; see `narrowed`

    What it says of a task is what the store answers to `query`; `where` says which configs count
    in place of `strategies`. Records of equal targets count too, of strategies that generate the
    same code for them (see `SharesCode`); of a config that both know, those of the task's own.
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
        conditions = self.conditions.for_task(task)
        own = None if where else self._own(task)
        return Query(task, conditions, self.device.fingerprint, self.host.revisions, where, own)

    def counts(self, measured: MeasureInput) -> bool:
        """Whether it was measured under the conditions that hold for its task."""
        wanted = self.conditions.for_task(measured.task)
        return measured.conditions.constants == wanted.constants

    def best(self, task: Task, where: Where | None = None) -> Record | None:
        return next((found.record for found in self.ranked(task, where)), None)

    def kin(self, task: Task, where: Where | None = None) -> Record | None:
        """The best of the other tasks that differ in their epilogue only."""
        found = [self.store.best_of_anchor(query) for query in self._queries(task, where)]
        known = [(one.seconds, one) for one in found if one is not None and one.seconds is not None]
        return min(known, key=lambda pair: pair[0])[1] if known else None

    def ranked(self, task: Task, where: Where | None = None) -> Iterator[Ranked]:
        own, *others = self._queries(task, where)
        elsewhere = [*merge(*map(self.store.ranked, others), key=lambda one: one.seconds)]
        if not elsewhere:
            return self.store.ranked(own)
        found = [*self.store.ranked(own)]
        known = {one.record.config for one in found} | self.store.failed(own).keys()
        for one in elsewhere:
            if one.record.config not in known:
                known.add(one.record.config)
                found.append(one)
        return iter(sorted(found, key=lambda one: one.seconds))

    def failed(self, task: Task, where: Where | None = None) -> dict[ConfigEntity, Failure]:
        own, *others = self._queries(task, where)
        found, elsewhere = self.store.failed(own), {}
        for query in others:
            elsewhere.update(self.store.failed(query))
        if elsewhere:
            worked = {one.record.config for one in self.ranked(task, where)}
            return {**{c: how for c, how in elsewhere.items() if c not in worked}, **found}
        return found

    def count(self, task: Task) -> Count:
        found = [self.store.count(query) for query in self._queries(task, None)]
        return Count(sum(one.trials for one in found), sum(one.failures for one in found))

    def records(self, task: Task) -> list[Record]:
        """Every record of the task, those of equal targets as far as their strategies count."""
        found = [*self.store.records(task.key)]
        for equal in equal_tasks(task, self.host):
            every = self.store.records(equal.key)
            found += [one for one in every if self.shares_code(one.config.strategy)]
        return found

    def _queries(self, task: Task, where: Where | None) -> list[Query]:
        """The task's own, and those of equal targets."""
        own = self.query(task, where)

        def shared(name: str) -> bool:
            return self.shares_code(name) and (own.alternatives is None or own.alternatives(name))

        equal = equal_tasks(task, self.host)
        return [own, *(replace(own, task=one, alternatives=shared) for one in equal)]

    def shares_code(self, alternative: str) -> bool:
        """Whether records of equal targets count that have a config of this alternative."""
        name = strategy_of(alternative)
        return name in self.host.revisions and self.host.strategy(name).precision == "float32"

    def _own(self, task: Task) -> Callable[[str], bool]:
        pattern = self.narrowed(task)
        if pattern == "*":
            return lambda name: self.host.permits(name, task)
        return lambda name: self.host.selects(pattern, name) and self.host.permits(name, task)
