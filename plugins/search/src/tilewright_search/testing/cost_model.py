"""What every cost model keeps to. Subclass, give its `name`, and inherit what it claims.

>>> class TestMine(CostModelContract, RankingCostModelContract, SavingCostModelContract):
...     name, options = "mine", {"penalty": 2.0}
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright_search.models.features import Floats
from tilewright_search.models.interface import CostModel, SavesModels
from tilewright_search.models.signature import FeatureSignature
from tilewright_testing.component import ComponentContract
from tilewright_testing.support.landscape import Landscape
from tilewright_testing.tuner import context_for

_COLUMNS = 7
_SIGNATURE = FeatureSignature("knobs", tuple("abcdefg"))
_NO_MODELS = (b"", b"{}", b"[1, 2]", b"\x00\xff" * 40)


class CostModelBasics(ComponentContract):
    """Makes the cost model that a subclass names."""

    role = "cost_model"

    @pytest.fixture
    def make(self, host: PluginHost) -> Callable[[], CostModel]:
        """A fresh model with each call."""
        return lambda: self.made(host, context_for(Landscape(), host))

    @pytest.fixture
    def model(self, make: Callable[[], CostModel]) -> CostModel:
        return make()


class CostModelContract(CostModelBasics):
    """Learns from any rows of features."""

    def test_finds_the_best_of_rows_it_never_saw(self, model: CostModel) -> None:
        _fit(model, _rows(300))
        assert _found(model) >= 14

    def test_what_was_learned_before_is_forgotten(self, make: Callable[[], CostModel]) -> None:
        model, fresh = make(), make()
        _fit(model, 1 - _rows(100, seed=2))
        for each in (model, fresh):
            _fit(each, _rows(200))
        assert np.array_equal(model.predict(_rows(50)), fresh.predict(_rows(50)))

    def test_the_next_fit_may_have_other_columns(self, model: CostModel) -> None:
        """As trials of further alternatives and tasks come in."""
        for columns in (_COLUMNS, 2 * _COLUMNS, 3):
            rows = np.tile(_rows(30), 2)[:, :columns]
            model.fit(rows, _truth(_rows(30)), np.zeros(30, np.int64))
            assert model.predict(rows[:9]).shape == (9,)

    def test_any_number_of_rows_with_constant_scores_is_no_trouble(self, model: CostModel) -> None:
        for count in (1, 2, 40):
            scores = np.full(count, 0.5, np.float32)
            model.fit(_rows(count), scores, np.zeros(count, np.int64))
            predicted = model.predict(_rows(9))
            assert predicted.shape == (9,)
            assert np.isfinite(predicted).all()

    def test_failures_only_are_no_trouble(self, model: CostModel) -> None:
        model.fit(_rows(20), np.zeros(20, np.float32), np.repeat([3, 8], 10))
        assert np.isfinite(model.predict(_rows(5))).all()

    def test_constant_features_are_no_trouble(self, model: CostModel) -> None:
        rows = np.ones((30, _COLUMNS), np.float32)
        model.fit(rows, _truth(_rows(30)), np.zeros(30, np.int64))
        assert np.isfinite(model.predict(7 * rows[:3])).all()


class RankingCostModelContract(CostModelBasics):
    """A model that compares rows of one task only."""

    def test_scores_of_different_groups_are_not_compared(self, model: CostModel) -> None:
        """Group 1 is slow for a reason that no feature tells; the order within must survive."""
        rows, groups = _rows(400), np.repeat([0, 1], 200)
        slowness = np.where(groups == 0, 1.0, 0.2).astype(np.float32)
        model.fit(rows, _truth(rows) * slowness, groups)
        assert _found(model) >= 12


class SavingCostModelContract(CostModelBasics):
    """A model that can be kept in a file is the same after save and load, up to rounding."""

    def test_it_has_what_saving_takes(self, model: CostModel) -> None:
        assert isinstance(model, SavesModels)

    def test_a_saved_model_predicts_as_before(
        self, make: Callable[[], SavesModels], tmp_path: Path
    ) -> None:
        model = make()
        _fit(model, _rows(120))
        path = tmp_path / "model.json"
        model.save_model(path, _SIGNATURE)
        again = make()
        assert again.load_model(path) == _SIGNATURE
        np.testing.assert_allclose(again.predict(_rows(50)), model.predict(_rows(50)), atol=1e-5)

    def test_what_is_no_model_is_refused_with_the_file_named(
        self, model: SavesModels, tmp_path: Path
    ) -> None:
        path = tmp_path / "model.json"
        for content in _NO_MODELS:
            path.write_bytes(content)
            with pytest.raises(UsageError, match="model"):
                model.load_model(path)

    def test_a_missing_file_is_refused(self, model: SavesModels, tmp_path: Path) -> None:
        with pytest.raises(UsageError):
            model.load_model(tmp_path / "none.json")


def _rows(count: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).random((count, _COLUMNS)).astype(np.float32)


def _truth(rows: Floats) -> Floats:
    """Scores of rows: two columns tell them, one up and one down."""
    return (0.6 * rows[:, 1] - 0.3 * rows[:, 4] + 0.3).astype(np.float32)


def _fit(model: CostModel, rows: Floats) -> None:
    model.fit(rows, _truth(rows), np.zeros(len(rows), np.int64))


def _found(model: CostModel) -> int:
    """How many of the best 20 of 200 new rows are among the 20 predicted best; chance finds 2."""
    rows = _rows(200, seed=1)
    best, predicted = _truth(rows), model.predict(rows)
    return len(set(np.argsort(-best)[:20]) & set(np.argsort(-predicted)[:20]))
