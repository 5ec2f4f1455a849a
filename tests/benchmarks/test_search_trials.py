"""How searches that were played apart come together in the results."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.needs("cli", "pipeline", "records", "search")

REACHED = "trials_to_2_percent"


def table(tuner, trials, *, space="hill", seeds=5):
    """What `bench tuners --json` writes, as far as it counts here."""
    row = {"space": space, "tuner": tuner, REACHED: trials, f"{REACHED}_quartiles": [trials, None]}
    return {"baseline": "random", "seeds": seeds, "limit": 300, "rows": [row]}


def test_a_tuner_stands_beside_the_peer_with_the_fewest_trials(module):
    tables = [
        *(table("xgb", 40, seeds=20), table("genetic", 90)),
        *(table("optuna:tpe", 21), table("optuna:cmaes", 48), table("kernel_tuner:mls", None)),
    ]
    (row,) = module("search_trials").beside_peers(tables)
    assert (row.case, row.ours, row.peer) == ("hill: xgb", 40, 21)
    assert row.details == {"seeds": 20, "best peer": "optuna:tpe", "its seeds": 5}


def test_a_space_on_which_no_peer_came_near_is_left_out(module):
    tables = [
        *(table("xgb", 40), table("optuna:tpe", None)),
        *(table("xgb", 30, space="plain"), table("optuna:tpe", 60, space="plain")),
    ]
    assert [row.case for row in module("search_trials").beside_peers(tables)] == ["plain: xgb"]


def test_a_peer_that_did_not_come_near_has_no_row(module):
    tables = [table("random", 200), table("optuna:tpe", None), table("optuna:cmaes", 48)]
    rows = module("search_trials").rows
    assert [row.ours for row in rows(tables, ["optuna:cmaes"])] == [48]
    assert rows(tables, ["optuna:tpe"]) == []
