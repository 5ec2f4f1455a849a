from __future__ import annotations

from dataclasses import replace

from tilewright.roles import TaskState
from tilewright.testing.landscape import Landscape
from tilewright_search.round_robin import RoundRobinScheduler


def _states(count):
    return [TaskState(Landscape(8 + n).task, 1.0 + n, 0, 0, None) for n in range(count)]


def test_every_task_gets_its_turn_whatever_its_weight():
    scheduler, states = RoundRobinScheduler(None, None), _states(3)
    assert [scheduler.next_task(states) for _ in range(7)] == [0, 1, 2, 0, 1, 2, 0]


def test_exhausted_tasks_are_passed_over():
    scheduler, states = RoundRobinScheduler(None, None), _states(4)
    assert scheduler.next_task(states) == 0
    states[1] = replace(states[1], exhausted=True)
    assert [scheduler.next_task(states) for _ in range(3)] == [2, 3, 0]


def test_the_end_is_none():
    states = [replace(state, exhausted=True) for state in _states(2)]
    assert RoundRobinScheduler(None, None).next_task(states) is None
    assert RoundRobinScheduler(None, None).next_task([]) is None
