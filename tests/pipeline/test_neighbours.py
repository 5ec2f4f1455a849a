"""A task without records begins with what was best for the most similar tasks, where those were tuned."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright import Pipeline, hookimpl
from tilewright_records.store.store import JsonlRecordStore

KEPT = Path("runs/toyrun/records.jsonl")


class Measured:
    """By size of the task, what was measured, in order."""

    def __init__(self):
        self.configs = {}

    @hookimpl
    def tilewright_batch_measured(self, task, trials):
        size = task.workload.inputs[0].shape[0]
        self.configs.setdefault(size, []).extend(trial.input.config for trial in trials)


def run(path):
    heard = Measured()
    Pipeline.load(path, observers=[heard]).run()
    return heard.configs


@pytest.mark.parametrize(("budget", "proposed"), [(40, True), (12, False)])
def test_the_best_of_a_tuned_neighbour_is_among_the_first_trials(pipeline_file, budget, proposed):
    run(pipeline_file(sizes="[64]", tune=f"tuner: toy, budget: {budget}"))
    best = min(JsonlRecordStore(KEPT).records(), key=lambda record: record.seconds).config
    first = run(pipeline_file(sizes="[96]"))[96]
    assert (best in first[:2]) == proposed


def test_a_task_with_records_of_its_own_asks_no_neighbour(pipeline_file):
    run(pipeline_file(sizes="[96]", tune="tuner: toy, budget: 3"))
    run(pipeline_file(sizes="[64]", tune="tuner: toy, budget: 60"))
    records = JsonlRecordStore(KEPT).records()
    of_64 = [one for one in records if one.task.workload.inputs[0].shape[0] == 64]
    best = min(of_64, key=lambda record: record.seconds).config
    again = run(pipeline_file(sizes="[96]", tune="tuner: toy, budget: 8"))[96]
    assert best not in again
