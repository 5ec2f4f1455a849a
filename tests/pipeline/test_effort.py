"""One word for how much a tuning stage may take, beside which everything can still be said."""

from __future__ import annotations

import json

import pytest

from tilewright.options import completed
from tilewright.vocabulary.budget import Budget
from tilewright_pipeline.options.tune_options import TuneOptions
from tilewright_pipeline.pipeline import Pipeline


@pytest.mark.parametrize(
    ("effort", "budget", "scheduler", "early_stopping"),
    [
        (None, Budget(seconds=60), "", None),
        (0, Budget(trials=0), "", None),
        (1, Budget(seconds=10), "gradient", None),
        (2, Budget(seconds=60), "gradient", None),
        (3, Budget(seconds=86400), "gradient", 256),
    ],
)
def test_an_effort_stands_for_budget_scheduler_and_end(effort, budget, scheduler, early_stopping):
    options = TuneOptions(effort=effort)
    assert options.budget == budget
    assert options.scheduler.name == scheduler
    assert options.early_stopping == early_stopping


def test_what_is_said_beside_an_effort_counts():
    options = TuneOptions(effort=3, budget="7 trials", scheduler="round-robin", early_stopping=5)
    assert options.budget == Budget(trials=7)
    assert options.scheduler.name == "round-robin"
    assert options.early_stopping == 5


@pytest.mark.parametrize("effort", range(4))
def test_what_a_run_writes_of_an_effort_is_read_again(effort):
    options = completed(TuneOptions(effort=effort), lambda role: f"a-{role}")
    assert TuneOptions.model_validate(options.model_dump(mode="json")) == options


def test_the_flag_counts_in_place_of_all_that_a_file_says(pipeline_file, call):
    path = pipeline_file(tune="tuner: toy, budget: 7, early_stopping: 20")
    code, out, _ = call("run", str(path), "--effort", "0", "--json", plugin=False)
    (options,) = (s["options"] for s in json.loads(out)["stages"] if s["name"] == "tune")
    assert (code, options["budget"], options.get("early_stopping")) == (0, "0 trials", None)


@pytest.mark.parametrize("effort", [4, -1, "much", 1.5, True])
def test_another_effort_is_refused(call, effort):
    code, _, err = call("run", "zoo:perceptron", "--set", f"tune.effort={effort}", "--quiet")
    assert code == 2
    assert "tune.effort" in err


def test_effort_0_measures_nothing(pipeline_file, tmp_path):
    result = Pipeline.load(pipeline_file(tune="effort: 0")).run()
    assert result.exit_code == 0
    assert result.report["measurement"]["trials"] == 0
    assert not any("trial" in line for line in _records(tmp_path))
    assert all(task["best_seconds"] is None for task in result.report["tasks"])


def test_a_flag_says_the_effort(call):
    asked = ("toyadd(8)", "--target", "toynative", "--runner", "toy", "--builder", "toy", "--json")
    code, out, _ = call("tune", *asked, "--effort", "0")
    told = json.loads(out)
    assert (code, told["trials"], told["best_seconds"]) == (0, 0, None)
    assert told["config"]["values"] == {"unroll": 1, "width": 1}  # as the strategy advises
    code, out, _ = call("tune", *asked, "--effort", "1", "--budget", "3")
    assert json.loads(out)["trials"] == 3


@pytest.mark.parametrize("more", [{}, {"effort": 1}, {"effort": 0, "budget": "3 trials"}])
def test_only_effort_0_by_itself_measures_nothing(more):
    assert TuneOptions(effort=0).measures_nothing
    assert not TuneOptions(**more).measures_nothing


def _records(folder):
    return [
        json.loads(line)["kind"]
        for file in folder.rglob("records.jsonl")
        for line in file.read_text().splitlines()
    ]


def test_the_flag_of_run_counts_in_place_of_what_the_file_says(call, pipeline_file):
    path = pipeline_file(tune="tuner: toy, budget: 5 trials")

    def trials(*asked):
        code, out, err = call("run", str(path), "--json", *asked)
        assert code == 0, err
        return json.loads(out)["measurement"]["trials"]

    assert trials("--effort", "0") == 0
    assert trials("--effort", "0", "--set", "tune.budget=3 trials") == 3
