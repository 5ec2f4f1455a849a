from __future__ import annotations

import json
import random
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from tilewright.errors import UsageError
from tilewright.vocabulary.device import Device
from tilewright.vocabulary.measure import Conditions, MeasureResult, Trial
from tilewright.vocabulary.record import Record
from tilewright_records.store.store import JsonlRecordStore
from tilewright_search.cli.bench_models import models
from tilewright_search.models.held_out import TaskTrials, pairwise_accuracy, recall
from tilewright_testing.support.landscape import Landscape

STRATEGY = """
from tilewright import hookimpl
from tilewright.strategies.strategy import Strategy

class Hill:
    def lower(self, task, config):
        return "no program of loops"

@hookimpl
def tilewright_strategies():
    return [Strategy("hill", 1, ("imaginary",), ("landscape",), lambda host: Hill())]
"""


@pytest.fixture
def recorded(tmp_path):
    """A plugin file and the records of three landscapes."""
    trials = []
    for size in (48, 64, 96):
        landscape = Landscape(size)
        trials += landscape.measure_all(landscape.space.sample(random.Random(size), 240))
    records = tmp_path / "records.jsonl"
    JsonlRecordStore(records).append([Record.of(t, Device("elsewhere"), 1) for t in trials])
    plugin = tmp_path / "hill.py"
    plugin.write_text(STRATEGY)
    return ["--plugin", str(plugin), str(records)]


def test_perfect_and_reversed_predictions_are_one_and_none():
    scores = np.linspace(0, 1, 50).astype(np.float32)
    assert (recall(scores, scores), pairwise_accuracy(scores, scores)) == (1, 1)
    assert (recall(scores, -scores), pairwise_accuracy(scores, -scores)) == (0, 0)
    assert pairwise_accuracy(scores, np.zeros(50)) == 0.5


def test_models_beat_chance_on_a_task_that_they_have_not_seen(recorded):
    result = CliRunner().invoke(models, [*recorded, "--features", "knobs", "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)["models"]
    assert {row["model"] for row in found} >= {"xgboost", "ridge"}
    for row in found:
        assert row["tasks"] == 3
        assert row["pairwise"] > 0.7
        assert row["recall"] > 2 * 16 / 240


def test_cold_and_warm_times_of_a_task_are_not_mixed():
    landscape = Landscape()
    cold = landscape.measure_all(landscape.space.sample(random.Random(0), 48))
    asked = [replace(trial.input, conditions=Conditions("warm")) for trial in cold[:40]]
    warm = [Trial(each, MeasureResult((1e-9,))) for each in asked]
    for trials in (cold + warm, warm + cold):
        (found,) = TaskTrials.group(trials, 256)
        assert [*found.configs] == [trial.input.config for trial in cold]
        assert len(set(found.scores.tolist())) > 20


def test_the_table_has_a_line_for_each_model_and_kind_of_features(recorded):
    result = CliRunner().invoke(models, recorded)
    assert result.exit_code == 0, result.output
    assert result.output.count("knobs") == result.output.count("loops") == 2


def test_save_writes_one_model(recorded, tmp_path):
    path = tmp_path / "model.json"
    asked = [*recorded, "--model", "xgboost", "--features", "knobs", "--save", str(path)]
    assert CliRunner().invoke(models, asked).exit_code == 0
    assert path.stat().st_size > 1000
    nowhere = [*asked[:-1], str(tmp_path)]
    for wrong in ([*recorded, "--save", str(path)], nowhere):
        assert isinstance(CliRunner().invoke(models, wrong).exception, UsageError)


def test_records_of_one_task_are_refused(tmp_path):
    landscape = Landscape()
    trials = landscape.measure_all(landscape.space.sample(random.Random(0), 40))
    path = tmp_path / "records.jsonl"
    JsonlRecordStore(path).append([Record.of(t, Device("elsewhere"), 1) for t in trials])
    refused = CliRunner().invoke(models, [str(path)])
    assert isinstance(refused.exception, UsageError)
