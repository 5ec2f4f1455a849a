"""The nearest known rows tell the score, and what can be wrong with such a model."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tilewright.errors import UsageError
from tilewright_search.models.signature import FeatureSignature
from tilewright_search.testing.cost_model import (
    CostModelContract,
    RankingCostModelContract,
    SavingCostModelContract,
)


class Good:
    """Scores are taken as a share of the mean of their group."""

    fails = frozenset()

    def fit(self, features, scores, groups):
        means = {group: scores[groups == group].mean() or 1.0 for group in np.unique(groups)}
        self.rows = features
        self.scores = scores / np.array([means[group] for group in groups], np.float32)

    def predict(self, features):
        distances = ((features[:, None] - self.rows[None]) ** 2).sum(axis=2)
        near = np.argsort(distances, axis=1, kind="stable")[:, :5]
        return self.scores[near].mean(axis=1)

    def save_model(self, path, signature):
        learned = {"rows": self.rows.tolist(), "scores": self.scores.tolist()}
        path.write_text(json.dumps({**learned, **signature.to_json()}))

    def load_model(self, path):
        try:
            data = json.loads(path.read_bytes())
            self.rows, self.scores = (np.array(data[k], np.float32) for k in ("rows", "scores"))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(f"no model: {error}", where=str(path)) from None
        return FeatureSignature.from_json(data, path)


class IgnoresFeatures(Good):
    fails = {
        "test_finds_the_best_of_rows_it_never_saw",
        "test_scores_of_different_groups_are_not_compared",
    }

    def predict(self, features):
        return np.arange(len(features), dtype=np.float32)


class PrefersTheSlow(Good):
    fails = {
        "test_finds_the_best_of_rows_it_never_saw",
        "test_scores_of_different_groups_are_not_compared",
    }

    def predict(self, features):
        return -super().predict(features)


class ComparesGroups(Good):
    fails = {"test_scores_of_different_groups_are_not_compared"}

    def fit(self, features, scores, groups):
        super().fit(features, scores, np.zeros(len(groups), np.int64))


class NeverForgets(Good):
    fails = {
        "test_what_was_learned_before_is_forgotten",
        "test_the_next_fit_may_have_other_columns",
    }

    rows = np.empty((0, 7), np.float32)
    scores = np.empty(0, np.float32)

    def fit(self, features, scores, groups):
        rows, known = self.rows, self.scores
        super().fit(features, scores, groups)
        self.rows, self.scores = np.concatenate([rows, self.rows]), np.append(known, self.scores)


class WantsManyRows(Good):
    fails = {"test_any_number_of_rows_with_constant_scores_is_no_trouble"}

    def fit(self, features, scores, groups):
        assert len(features) > 2
        super().fit(features, scores, groups)


class CountsColumnsOnce(Good):
    fails = {"test_the_next_fit_may_have_other_columns"}

    columns = None

    def fit(self, features, scores, groups):
        self.columns = self.columns or features.shape[1]
        super().fit(features.reshape(-1, self.columns), scores, groups)


class DividesByTheBest(Good):
    fails = {"test_failures_only_are_no_trouble"}

    def predict(self, features):
        with np.errstate(invalid="ignore"):
            return super().predict(features) / self.scores.max()


class DividesByTheSpread(Good):
    fails = {"test_constant_features_are_no_trouble"}

    def predict(self, features):
        with np.errstate(invalid="ignore", divide="ignore"):
            return super().predict(features) + 0 / (
                self.rows.std(axis=0).sum() + (len(self.rows) < 30)
            )


class SavesRounded(Good):
    fails = {"test_a_saved_model_predicts_as_before"}

    def save_model(self, path, signature):
        self.rows, exact = self.rows.round(1), self.rows
        super().save_model(path, signature)
        self.rows = exact


class LoadsAnything(Good):
    fails = {"test_what_is_no_model_is_refused_with_the_file_named"}

    def load_model(self, path):
        try:
            return super().load_model(path)
        except UsageError:
            if not path.exists():
                raise
            return FeatureSignature("knobs", ())


class LoadsNothing(Good):
    fails = {"test_a_missing_file_is_refused"}

    def load_model(self, path):
        return super().load_model(path) if path.exists() else FeatureSignature("knobs", ())


class SavesWithoutLoading(Good):
    fails = {
        "test_it_has_what_saving_takes",
        "test_a_saved_model_predicts_as_before",
        "test_what_is_no_model_is_refused_with_the_file_named",
        "test_a_missing_file_is_refused",
    }

    load_model = None


class TestCostModels(CostModelContract, RankingCostModelContract, SavingCostModelContract):
    @pytest.fixture(
        params=[
            Good,
            IgnoresFeatures,
            PrefersTheSlow,
            ComparesGroups,
            NeverForgets,
            WantsManyRows,
            CountsColumnsOnce,
            DividesByTheBest,
            DividesByTheSpread,
            SavesRounded,
            LoadsAnything,
            LoadsNothing,
            SavesWithoutLoading,
        ]
    )
    def variant(self, request):
        return request.param

    @pytest.fixture
    def make(self, variant):
        return variant
