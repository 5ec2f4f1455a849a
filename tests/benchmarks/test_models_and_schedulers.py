"""How what `bench models` and `bench schedulers` say becomes rows of results."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.needs("cli")

FIGURES = {"pairwise": 0.8, "correlation": 0.7, "regret": 0.1, "row_seconds": 1, "fit_seconds": 1}


def ranked(recall):
    """What `bench models --json` prints of one space; a second model had nothing to predict."""
    known = {"model": "ridge", "features": "knobs", "recall": recall, "tasks": 1, **FIGURES}
    return {"spaces": 1, "models": [known, {"model": "ridge", "features": "loops"}]}


def spent(name, *percents, p_value=None):
    keys = (f"percent_above_best_at_{share}" for share in (25, 50, 75, 100))
    return {"scheduler": name, **dict(zip(keys, percents, strict=True)), "p_value": p_value}


def test_a_model_has_the_mean_over_all_spaces_and_seeds(module):
    (row,) = module("models_and_schedulers").models([ranked(0.25), ranked(0.75)])
    assert (row.case, row.ours, row.peer) == ("ridge on knobs", 0.5, None)
    assert row.details["spaces and seeds"] == 2
    assert row.details["pairs in order"] == pytest.approx(0.8)


def test_a_scheduler_stands_beside_the_baseline_once_every_task_has_a_time(module):
    rows = [spent("plain", None, 9.0, 5.0, 4.0), spent("mine", None, 8.0, 6.0, 2.0, p_value=0.5)]
    table = {"spaces": ["a", "b"], "tuner": "xgb", "trials": 128, "seeds": 3, "rows": rows}
    half, most, end = module("models_and_schedulers").schedulers([ranked(0.5), table])
    assert (half.case, half.ours, half.peer) == ("mine after half of 128 trials", 8.0, 9.0)
    assert (most.ours, most.peer) == (6.0, 5.0)
    assert "p at the end" not in most.details
    assert end.details == {"tasks": 2, "seeds": 3, "tuner": "xgb", "p at the end": 0.5}
