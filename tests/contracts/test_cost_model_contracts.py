"""The cost model suites over every cost model that this repository ships."""

from __future__ import annotations

from tilewright_search.testing.cost_model import (
    CostModelContract,
    RankingCostModelContract,
    SavingCostModelContract,
)


class TestXgboost(CostModelContract, SavingCostModelContract):
    """Fits throughput: of tasks whose features are alike it takes the slower for slow."""

    name = "xgboost"
    options = {"loss": "reg"}


class TestXgboostRank(CostModelContract, RankingCostModelContract, SavingCostModelContract):
    name = "xgboost"
    options = {"loss": "rank"}


class TestRidge(CostModelContract, RankingCostModelContract, SavingCostModelContract):
    name = "ridge"
