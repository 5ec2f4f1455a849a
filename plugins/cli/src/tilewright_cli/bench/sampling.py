"""Which configs of which task are measured next."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from tilewright.host.fallback import fallback_configs
from tilewright.vocabulary.measure import MeasureInput

if TYPE_CHECKING:
    from tilewright.space.config_space import ConfigSpace
    from tilewright.vocabulary.config import ConfigEntity
    from tilewright.vocabulary.task import Task
    from tilewright.vocabulary.workload import Workload
    from tilewright_pipeline.context.run_context import RunContext

TURN = 8
"""Configs of a task that are measured together."""
_PARENTS = 4
"""The fastest configs of a task, from which neighbours are drawn."""
_CLOSE = 2.0
"""Times the fastest, within which a config may be the fastest: on a shared host neighbours make a
kernel take up to 1.6 times as long, for seconds on end."""


class Sampling:
    """The tasks in turns, those with the fewest trials first, until each has so many.

    What the strategies advise comes first, and the configs given of a workload that are of its
    space here; then half of a turn is drawn anywhere, each alternative alike, and half are
    neighbours of the fastest: a model is to know both what is slow and what tells the fast ones
    apart (TenSet, Zheng et al., NeurIPS 2021, samples both too).
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        most: int,
        context: RunContext,
        first: Mapping[Workload, Sequence[ConfigEntity]],
    ) -> None:
        self._tasks, self._most, self._context = tasks, most, context
        self._given = first
        self._first: dict[Task, Iterator[ConfigEntity]] = {}
        self._known: dict[Task, dict[ConfigEntity, float | None]] = {task: {} for task in tasks}
        self._ended: set[Task] = set()
        self._times: Counter[tuple[Task, ConfigEntity]] = Counter()
        for record in context.store.records():
            if record.task in self._known and not record.trial.result.spoiled:
                self._keep(record.task, record.config, record.seconds)

    @property
    def trials(self) -> int:
        """How many are known of the tasks."""
        return self._times.total()

    def turns(self) -> Iterator[list[MeasureInput]]:
        """What to measure next; `observe` is to be told of it before the next turn."""
        while True:
            left = [task for task in self._tasks if task not in self._ended]
            if not left:
                return
            for task in sorted(left, key=lambda task: len(self._known[task])):
                room = self._most - len(self._known[task])
                configs = self._next(task, min(TURN, room)) if room > 0 else []
                if configs:
                    yield self._asked(task, configs)
                else:
                    self._ended.add(task)

    def passes(self, most: int) -> Iterator[list[MeasureInput]]:
        """After the turns, everything once more, then what may be the fastest, until so often.

        All tasks once before any of them again: a slow phase of the machine lasts longer than a
        turn. A config that lost its race has one sample, which a rare pause may have spoiled.
        """
        for number in range(2, most + 1):
            for task in self._tasks:
                some = self._close(task) if number > 2 else self._timed(task)
                fewer = [one for one in some if self._times[task, one] < number]
                for start in range(0, len(fewer), TURN):
                    yield self._asked(task, fewer[start : start + TURN])

    def observe(self, asked: MeasureInput, seconds: float | None) -> None:
        """A trial's median, None where it failed: then it is not drawn again either."""
        self._keep(asked.task, asked.config, seconds)

    def _asked(self, task: Task, configs: Iterable[ConfigEntity]) -> list[MeasureInput]:
        conditions = self._context.conditions.for_task(task)
        return [MeasureInput(task, config, conditions) for config in configs]

    def _keep(self, task: Task, config: ConfigEntity, seconds: float | None) -> None:
        known = self._known[task]
        both = [time for time in (known.get(config), seconds) if time is not None]
        known[config] = min(both, default=None)
        self._times[task, config] += 1

    def _timed(self, task: Task) -> dict[ConfigEntity, float]:
        """The least time of those that did not fail, in the order in which they came."""
        return {config: time for config, time in self._known[task].items() if time is not None}

    def _close(self, task: Task) -> list[ConfigEntity]:
        """Those that are nearly as fast as the fastest."""
        timed = self._timed(task)
        most = _CLOSE * min(timed.values(), default=0.0)
        return [config for config, time in timed.items() if time <= most]

    def _next(self, task: Task, count: int) -> list[ConfigEntity]:
        host, known = self._context.host, self._known[task]
        space = host.space(task)
        if task not in self._first:
            advised, given = fallback_configs(task, space, host), self._given.get(task.workload, ())
            self._first[task] = iter(dict.fromkeys([*advised, *given]))
        first = (one for one in self._first[task] if one not in known and space.is_valid(one))
        if some := list(islice(first, count)):
            return some
        generator = random.Random(f"{self._context.seed} {task.key} {len(known)}")
        found = dict.fromkeys(self._neighbours(task, space, count // 2, generator))
        drawn = space.sample(generator, count + len(known), balanced=True)
        found.update((config, None) for config in drawn if config not in known)
        return list(islice(found, count))

    def _neighbours(
        self, task: Task, space: ConfigSpace, count: int, generator: random.Random
    ) -> list[ConfigEntity]:
        """Configs one or two steps from the fastest; fewer where they are known."""
        known, timed = self._known[task], self._timed(task)
        fastest = sorted((c for c in timed if space.is_valid(c)), key=timed.__getitem__)[:_PARENTS]
        found = []
        for _ in range(count if fastest else 0):
            config = generator.choice(fastest)
            for _ in range(generator.choice((1, 2))):
                config = space.neighbour(config, generator)
            if config not in known:
                found.append(config)
        return found
