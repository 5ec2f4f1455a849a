from __future__ import annotations

from dataclasses import replace

from tilewright.roles import TaskState
from tilewright_search.schedulers.round_robin import RoundRobinScheduler
from tilewright_testing.support.landscape import Landscape


def _states(*trials):
    return [
        TaskState(Landscape(8 + n).task, 1.0 + n, done, 0, None) for n, done in enumerate(trials)
    ]


def _next(states):
    return RoundRobinScheduler(None, None).next_task(states)


def test_every_task_gets_its_turn_whatever_its_weight():
    states, turns = _states(0, 0, 0), []
    for _ in range(7):
        turns.append(_next(states))
        states[turns[-1]] = replace(states[turns[-1]], trials=states[turns[-1]].trials + 4)
    assert turns == [0, 1, 2, 0, 1, 2, 0]


def test_of_tasks_with_equally_many_trials_the_costliest_comes_first():
    """Weights are 1, 2, 3 and 4."""
    times = (5.0, 4.0, 2.0, 1.0)
    states = [replace(s, best_seconds=t) for s, t in zip(_states(1, 1, 1, 1), times, strict=True)]
    assert _next(states) == 1
    assert _next([*states[:3], replace(states[3], best_seconds=None)]) == 3
    assert _next([*states[:3], replace(states[3], trials=0)]) == 3


def test_a_resumed_run_goes_on_with_the_tasks_that_the_last_one_did_not_reach():
    assert _next(_states(20, 20, 16, 16)) == 2
