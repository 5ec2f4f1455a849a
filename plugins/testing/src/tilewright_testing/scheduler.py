"""What every task scheduler keeps to. Subclass and give its `name`.

>>> class TestMine(TaskSchedulerContract):
...     name, options = "mine", {"alpha": 0.5}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from tilewright.host.plugin_host import PluginHost
from tilewright.roles import TaskScheduler, TaskState
from tilewright_testing.component import ComponentContract
from tilewright_testing.support.landscape import Landscape


def states_of(count: int) -> list[TaskState]:
    """Fresh tasks of different sizes and weights."""
    return [TaskState(Landscape(16 + 8 * n).task, 1.0 + n, 0, 0, None) for n in range(count)]


class TaskSchedulerContract(ComponentContract):
    """Chooses open tasks only, starves none at the start, and stops at the end.

    Its choice depends on the states alone: a resumed run makes a new scheduler.
    """

    role = "scheduler"

    @pytest.fixture
    def make(self, host: PluginHost) -> Callable[[], TaskScheduler]:
        """A fresh scheduler with each call."""
        return lambda: self.made(host, host)

    def test_gives_every_task_a_batch_before_long(self, make: Callable[[], TaskScheduler]) -> None:
        chosen = self._play(make(), states_of(4), rounds=8, batch=16)
        assert set(chosen) == {0, 1, 2, 3}

    def test_a_new_task_among_old_ones_gets_its_batch_before_long(
        self, make: Callable[[], TaskScheduler]
    ) -> None:
        states = [_advanced(state, 64) for state in states_of(3)] + states_of(4)[3:]
        assert 3 in self._play(make(), states, rounds=8, batch=16)

    def test_the_tasks_of_several_networks_all_get_a_batch(
        self, make: Callable[[], TaskScheduler]
    ) -> None:
        owners = [{"a": 1.0}, {"b": 3.0}, {"a": 2.0, "b": 1.0}]
        states = [
            replace(state, networks=networks)
            for state, networks in zip(states_of(3), owners, strict=True)
        ]
        assert set(self._play(make(), states, rounds=6, batch=16)) == {0, 1, 2}

    def test_never_chooses_an_exhausted_task(self, make: Callable[[], TaskScheduler]) -> None:
        states = states_of(4)
        states[0] = replace(states[0], exhausted=True)
        states[2] = replace(states[2], exhausted=True)
        assert set(self._play(make(), states, rounds=12, batch=16)) == {1, 3}

    def test_nothing_left_is_none(self, make: Callable[[], TaskScheduler]) -> None:
        states = [replace(state, exhausted=True) for state in states_of(3)]
        assert make().next_task(states) is None
        assert make().next_task([]) is None

    def test_a_new_one_goes_on_as_the_old_one_would(
        self, make: Callable[[], TaskScheduler]
    ) -> None:
        lasting, states = make(), states_of(5)
        for _ in range(20):
            (place,) = self._play(lasting, states, rounds=1, batch=8)
            assert make().next_task(states) == place
            states[place] = _advanced(states[place], 8)

    def test_tasks_without_any_success_are_no_trouble(
        self, make: Callable[[], TaskScheduler]
    ) -> None:
        states = [
            replace(state, trials=32, failures=32, curve=(None,) * 32) for state in states_of(3)
        ]
        assert make().next_task(states) in (0, 1, 2)

    def test_a_best_that_did_not_last_is_no_trouble(
        self, make: Callable[[], TaskScheduler]
    ) -> None:
        """Finalists turned out slower than they had seemed, or failed."""
        states = [_advanced(state, 64) for state in states_of(3)]
        rises = [(*states[place].curve[:-8], *(end,) * 8) for place, end in ((1, 1.0), (2, None))]
        for place, curve in enumerate(rises, 1):
            states[place] = replace(states[place], best_seconds=curve[-1], curve=curve)
        assert make().next_task(states) in (0, 1, 2)

    @staticmethod
    def _play(
        scheduler: TaskScheduler, states: Sequence[TaskState], rounds: int, batch: int
    ) -> list[int]:
        """The choices of some rounds, in which each trial of a task beats its last."""
        now, chosen = list(states), []
        for _ in range(rounds):
            place = scheduler.next_task(now)
            assert place is not None
            chosen.append(place)
            now[place] = _advanced(now[place], batch)
        return chosen


def _advanced(state: TaskState, trials: int) -> TaskState:
    """After so many more trials, each better than the last."""
    times = [1e-3 / (state.trials + n + 1) for n in range(trials)]
    return replace(
        state,
        trials=state.trials + trials,
        best_seconds=times[-1],
        curve=(*state.curve, *times),
    )
