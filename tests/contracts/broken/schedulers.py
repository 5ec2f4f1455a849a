"""A scheduler that evens out the trials, and what can be wrong with it."""

from __future__ import annotations

import math
import random

import pytest

from tilewright_testing.scheduler import TaskSchedulerContract

DID_NOT_LAST = "test_a_best_that_did_not_last_is_no_trouble"


class Good:
    fails = frozenset()

    def next_task(self, states):
        open_tasks = [place for place, state in enumerate(states) if not state.exhausted]
        return self.choose(open_tasks, states) if open_tasks else None

    def choose(self, open_tasks, states):
        return min(open_tasks, key=lambda place: states[place].trials)


class Starves(Good):
    """The costliest task gets everything."""

    fails = {
        "test_gives_every_task_a_batch_before_long",
        "test_a_new_task_among_old_ones_gets_its_batch_before_long",
        "test_never_chooses_an_exhausted_task",
        "test_the_tasks_of_several_networks_all_get_a_batch",
    }

    def choose(self, open_tasks, states):
        return max(open_tasks, key=lambda place: states[place].trials)


class PrefersTheWellKnown(Good):
    fails = {"test_a_new_task_among_old_ones_gets_its_batch_before_long"}

    def choose(self, open_tasks, states):
        known = [place for place in open_tasks if states[place].trials >= 64]
        return super().choose(known or open_tasks, states)


class ChoosesTheDead(Good):
    fails = {"test_never_chooses_an_exhausted_task", "test_nothing_left_is_none"}

    def next_task(self, states):
        return self.choose(range(len(states)), states) if states else None


class NeverEnds(Good):
    fails = {"test_nothing_left_is_none"}

    def next_task(self, states):
        found = super().next_task(states)
        return 0 if found is None else found


class KnowsOneNetwork(Good):
    fails = {"test_the_tasks_of_several_networks_all_get_a_batch"}

    def choose(self, open_tasks, states):
        first = next(iter(states[0].networks), None)
        own = [place for place in open_tasks if first is None or first in states[place].networks]
        return super().choose(own, states)


class TossesCoins(Good):
    fails = {"test_a_new_one_goes_on_as_the_old_one_would"}

    def choose(self, open_tasks, states):
        fewest = min(states[place].trials for place in open_tasks)
        behind = [place for place in open_tasks if states[place].trials == fewest]
        return random.SystemRandom().choice(behind)


class CountsItsOwnTurns(Good):
    fails = {"test_a_new_one_goes_on_as_the_old_one_would"}

    def __init__(self):
        self.turn = 0

    def choose(self, open_tasks, states):
        self.turn += 1
        return open_tasks[self.turn % len(open_tasks)]


class ComparesTimesThatAreNone(Good):
    fails = {"test_tasks_without_any_success_are_no_trouble", DID_NOT_LAST}

    def choose(self, open_tasks, states):
        measured = [state.best_seconds for state in states if state.trials]
        sum(measured)
        return super().choose(open_tasks, states)


class BelievesThatTimesFall(Good):
    fails = {DID_NOT_LAST}

    def choose(self, open_tasks, states):
        for state in states:
            times = [seconds for seconds in state.curve if seconds is not None]
            if times:
                math.sqrt(min(times) - (state.best_seconds or times[-1]))
        return super().choose(open_tasks, states)


class TestSchedulers(TaskSchedulerContract):
    @pytest.fixture(
        params=[
            Good,
            Starves,
            PrefersTheWellKnown,
            ChoosesTheDead,
            NeverEnds,
            KnowsOneNetwork,
            TossesCoins,
            CountsItsOwnTurns,
            ComparesTimesThatAreNone,
            BelievesThatTimesFall,
        ]
    )
    def variant(self, request):
        return request.param

    @pytest.fixture
    def make(self, variant):
        return variant
