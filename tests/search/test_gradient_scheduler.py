from __future__ import annotations

import random
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest

from tilewright.errors import UsageError
from tilewright.roles import TaskState
from tilewright.vocabulary.task_set import TaskSet, WeightedTask
from tilewright_testing.support.landscape import Landscape

ROUND = 16


def _state(size=16, weight=1.0, trials=160, best=1e-3, gained=0.0, **rest):
    """A task whose curve fell by `gained` seconds over the last three rounds."""
    window = min(trials, 3 * ROUND)
    curve = (best + gained,) * (trials - window + 1) + (best,) * (window - 1)
    return TaskState(Landscape(size).task, weight, trials, 0, best, curve[:trials], **rest)


def test_the_costliest_of_equal_tasks_is_next(host):
    scheduler = host.make("scheduler", "gradient", {}, host)
    assert scheduler.next_task([_state(best=1e-3), _state(24, best=3e-3), _state(32)]) == 1
    assert scheduler.next_task([_state(weight=5), _state(24, best=3e-3), _state(32)]) == 0


def test_kernels_of_microseconds_are_weighed_like_slow_ones(host):
    """The numeric derivative of 100 us went below zero for these."""
    scheduler = host.make("scheduler", "gradient", {}, host)
    for scale in (1.0, 1e-3, 1e-5):
        states = [_state(best=1e-3 * scale), _state(24, best=2e-3 * scale), _state(32, best=1e-4)]
        assert scheduler.next_task(states[:2]) == 1


def test_a_task_that_still_gains_is_preferred(host):
    scheduler = host.make("scheduler", "gradient", {}, host)
    assert scheduler.next_task([_state(), _state(24, gained=1e-3)]) == 1


def test_trials_of_earlier_runs_count_as_warm_up(host):
    scheduler = host.make("scheduler", "gradient", {}, host)
    assert scheduler.next_task([_state(best=1.0), _state(24, trials=15, best=1e-6)]) == 1
    assert scheduler.next_task([_state(best=1.0), _state(24, trials=16, best=1e-6)]) == 0


def test_a_task_that_always_fails_does_not_swallow_the_budget(host):
    scheduler = host.make("scheduler", "gradient", {}, host)
    states = [replace(_state(trials=16), curve=(None,) * 16, best_seconds=None)]
    states += [_state(24 + n, trials=16) for n in range(3)]
    given = [0] * 4
    for _ in range(40):
        place = scheduler.next_task(states)
        given[place] += 1
        state = states[place]
        trials = state.trials + ROUND
        states[place] = replace(state, trials=trials, curve=state.curve + state.curve[-1:] * ROUND)
    assert given[0] <= 12


def test_below_the_latency_target_nothing_is_worth_a_batch(host):
    scheduler = host.make("scheduler", "gradient", {"latency_target_ms": 4}, host)
    assert scheduler.next_task([_state(weight=2), _state(24, best=1.9e-3)]) is None
    assert scheduler.next_task([_state(weight=2), _state(24, best=2.1e-3)]) is not None


def test_a_dead_task_does_not_keep_its_network_above_the_target(host):
    dead = replace(_state(), best_seconds=None, curve=(None,) * 160, exhausted=True)
    states = [dead, _state(24, weight=2)]
    assert host.make("scheduler", "gradient", {}, host).next_task(states) == 1
    met = host.make("scheduler", "gradient", {"latency_target_ms": 2.1}, host)
    assert met.next_task(states) is None
    assert met.next_task([replace(dead, exhausted=False), states[1]]) is not None


def test_a_task_much_slower_than_those_alike_promises_more():
    reference = SimpleNamespace(operations=lambda workload: workload.inputs[0].shape[0] ** 2)
    host = SimpleNamespace(reference=lambda operator: reference)
    from tilewright_search.schedulers.gradient import GradientOptions, GradientScheduler

    states = [_state(16, trials=800, best=1e-3), _state(17, trials=800, best=9e-3)]
    states.append(_state(96, trials=400, best=8e-3))
    assert GradientScheduler(GradientOptions(), host).next_task(states) == 1
    assert GradientScheduler(GradientOptions(beta=1e6), host).next_task(states) == 2


def test_gradient_ends_with_a_lower_total_than_round_robin_on_most_task_sets(host):
    won = 0
    for seed in range(20):
        totals = [
            _tuned_total(host.make("scheduler", name, {}, host), seed)
            for name in ("gradient", "round-robin")
        ]
        won += totals[0] < totals[1]
    assert won >= 15


def _tuned_total(scheduler, seed, tasks=12, rounds=60):
    """The weighted total after some rounds; tasks differ in size, weight and how they converge."""
    rng = random.Random(seed)
    floors = [10 ** rng.uniform(-5, -2.5) for _ in range(tasks)]
    slopes = [rng.uniform(0.3, 1.2) for _ in range(tasks)]
    states = [
        TaskState(Landscape(16 + n).task, rng.choice([1, 1, 2, 3, 6]), 0, 0, None)
        for n in range(tasks)
    ]
    draws = [random.Random(f"{seed}/{n}") for n in range(tasks)]
    for _ in range(rounds):
        place = scheduler.next_task(states)
        state, curve = states[place], list(states[place].curve)
        for n in range(state.trials, state.trials + ROUND):
            typical = 1 + 4 * (1 + n) ** -slopes[place]
            seconds = floors[place] * typical * (1 + draws[place].expovariate(3))
            curve.append(min(seconds, curve[-1]) if curve else seconds)
        states[place] = replace(
            state, trials=len(curve), best_seconds=curve[-1], curve=tuple(curve)
        )
    unknown = 1.0
    return sum(s.weight * (s.best_seconds or unknown) for s in states)


def _shared_states():
    """Networks a (tasks 0, 1) and b (tasks 1, 2): 5 ms and 7 ms."""
    members = [{"a": 2.0}, {"a": 1.0, "b": 1.0}, {"b": 2.0}]
    times = [1e-3, 3e-3, 2e-3]
    return [
        replace(_state(16 + 8 * n, weight=sum(m.values()), best=t), networks=m)
        for n, (m, t) in enumerate(zip(members, times, strict=True))
    ]


def test_a_task_of_two_networks_counts_for_both_and_networks_can_weigh_more(host):
    make = partial(host.make, "scheduler", "gradient", context=host)
    assert make({}).next_task(_shared_states()) == 1
    assert make({"weights": {"a": 0}}).next_task(_shared_states()) == 2
    assert make({"weights": {"a": 5}}).next_task(_shared_states()) == 1
    assert make({"weights": {"a": 0, "b": 0}}).next_task(_shared_states()) is None


def test_every_network_has_its_own_latency_target(host):
    make = partial(host.make, "scheduler", "gradient", context=host)
    assert make({"latency_target_ms": {"b": 7.1}}).next_task(_shared_states()) == 1
    first_only = [replace(state, trials=1600) for state in _shared_states()[:2]]
    states = [*first_only, _shared_states()[2]]
    assert make({}).next_task(states) == 2
    assert make({"latency_target_ms": {"b": 7.1}}).next_task(states) != 2
    assert make({"latency_target_ms": {"a": 5.1, "b": 7.1}}).next_task(states) is None
    assert make({"latency_target_ms": 7.1}).next_task(states) is None
    assert make({"latency_target_ms": 6.9}).next_task(states) == 2


def test_a_network_that_is_not_there_is_refused_before_anything_is_measured(host):
    tasks = TaskSet(tuple(WeightedTask(s.task, networks=s.networks) for s in _shared_states()))
    for option in ("weights", "latency_target_ms"):
        scheduler = host.make("scheduler", "gradient", {option: {"bb": 2, "a": 2}}, host)
        with pytest.raises(UsageError, match="no network named 'bb'\n  did you mean 'b'"):
            scheduler.check_tasks(tasks)
        with pytest.raises(
            UsageError, match="no network named 'bb'\n  the tasks are of no network"
        ):
            scheduler.check_tasks(TaskSet((WeightedTask(Landscape(16).task),)))
        host.make("scheduler", "gradient", {option: {"b": 2, "a": 2}}, host).check_tasks(tasks)
