"""Tasks and budgets while batches are under way: which task is next, and what is left to spend."""

from __future__ import annotations

import pytest
from toy_tasks import entry

from tilewright.vocabulary.budget import Budget
from tilewright.vocabulary.measure import MeasureInput
from tilewright.vocabulary.task_set import TaskSet
from tilewright_pipeline.tuning.budget_tracker import BudgetTracker
from tilewright_pipeline.tuning.next_track import next_track
from tilewright_pipeline.tuning.task_track import TaskTrack

TASKS = TaskSet((entry(8), entry(16), entry(32)))


class Recorder:
    """A scheduler that takes the first open task."""

    def __init__(self):
        self.seen = []

    def next_task(self, states):
        self.seen.append([state.exhausted for state in states])
        return next((n for n, state in enumerate(states) if not state.exhausted), None)


@pytest.fixture
def tracks(host):
    conditions = MeasureInput(entry(8).task, None).conditions
    return [TaskTrack(e, conditions, lambda e=e: host.space(e.task)) for e in TASKS]


def test_tasks_with_batches_under_way_are_shown_as_exhausted_while_others_have_fewer(tracks):
    scheduler = Recorder()
    for _ in range(4):
        next_track(scheduler, tracks).take_off([])
    assert scheduler.seen == [
        [False, False, False],
        [True, False, False],
        [True, True, False],
        [False, False, False],
    ]
    assert [track.flights for track in tracks] == [2, 1, 1]


def test_a_task_that_has_nothing_fresh_waits_for_its_batch_and_ends_only_without(tracks):
    scheduler, waiting = Recorder(), tracks[0]
    waiting.take_off([])
    waiting.run_out()
    assert waiting.ended is None
    assert next_track(scheduler, tracks) is tracks[1]
    for track in tracks[1:]:
        track.end("exhausted")
    assert next_track(scheduler, tracks) is None
    waiting.land([])
    assert next_track(scheduler, tracks) is waiting
    waiting.run_out()
    assert waiting.ended == "exhausted"


def test_seconds_pay_for_trials_under_way_first():
    measured, pending = [10], [0]
    tracker = BudgetTracker(
        Budget(seconds=3600.0), lambda: measured[0], (3600.0 - 36.0, 0), lambda: pending[0]
    )
    # 36 s are left, and ten trials took an hour: a tenth of a trial
    assert tracker.affordable(16) == 1
    pending[0] = 1
    assert tracker.affordable(16) == 0
    measured[0] = 3600  # a second each
    assert 30 <= tracker.affordable(100) <= 36
    pending[0] = 20
    assert 10 <= tracker.affordable(100) <= 16


def test_trials_under_way_are_spent():
    tracker = BudgetTracker(Budget(trials=20), lambda: 5, pending=lambda: 12)
    assert (tracker.left, tracker.affordable(16)) == (3, 3)
    assert tracker.affordable(16, keep=3) == 0
    assert tracker.rest == Budget(trials=3)
