from __future__ import annotations

import random
import re
from collections import Counter
from statistics import median

import numpy as np
import pytest

from tilewright.errors import UsageError
from tilewright.host.contexts import TunerContext
from tilewright.host.plugin_host import PluginHost
from tilewright.plugins.blamed import Blamed
from tilewright.vocabulary.measure import Failure, FailureKind, MeasureInput, MeasureResult, Trial
from tilewright_search.moves.annealing import anneal
from tilewright_search.moves.diverse import pick_diverse
from tilewright_testing.support.landscape import Landscape
from tilewright_testing.tuner import context_for, run


def _best(landscape, configs):
    seconds = [landscape.true_seconds(config) for config in configs]
    return min((s for s in seconds if s is not None), default=1.0) / landscape.best_seconds


def test_the_diverse_pick_trades_score_against_distance():
    features = np.array([[0, 0], [0.01, 0], [1, 1], [0.5, 0.5]], np.float32)
    scores = np.array([1.0, 0.99, 0.8, 0.0], np.float32)
    assert pick_diverse(features, scores, 2, weight=0.0) == [0, 1]
    assert pick_diverse(features, scores, 2, weight=0.5) == [0, 2]
    assert pick_diverse(features, scores, 9, weight=0.1)[-1] == 3


def test_without_scores_the_pick_fills_the_space():
    grid = np.array([[x, y] for x in range(9) for y in range(9)], np.float32)
    picked = {tuple(grid[place]) for place in pick_diverse(grid, np.zeros(81), 4, weight=1.0)}
    assert {(0.0, 0.0), (8.0, 8.0)} <= picked


def test_annealing_climbs_above_its_starts():
    landscape = Landscape()

    def score(indexes):
        seconds = [landscape.true_seconds(landscape.space.get(index)) for index in indexes]
        return np.array([1e-3 / s if s else 0.0 for s in seconds], np.float32)

    starts = landscape.space.sample_indexes(random.Random(0), 16)
    visited = anneal(landscape.space, starts, score, random.Random(1), 20)
    assert max(visited.values()) > max(score(starts)) * 1.05
    assert all(map(landscape.space.is_index_valid, visited))


def test_a_batch_after_the_first_is_better_than_chance(host):
    landscape = Landscape()
    tuner = host.make("tuner", "xgb", {"epsilon": 0}, context_for(landscape, host))
    proposed = run(tuner, landscape, 64)

    def typical(configs):
        return median(landscape.true_seconds(config) or 1.0 for config in configs)

    assert typical(proposed[48:]) < typical(proposed[:16]) / 1.3


def test_what_was_learned_on_other_tasks_of_the_run_is_used(host):
    """The first batch of a task is no shot in the dark when tasks like it were tuned before."""
    gains = []
    for seed in range(3):
        made = {}

        def shared(key, make, made=made):
            return made.setdefault(key, None) or made.__setitem__(key, make()) or made[key]

        for size in (48, 64):
            landscape = Landscape(size)
            context = TunerContext(landscape.task, landscape.space, seed, (), host, shared)
            run(host.make("tuner", "xgb", {}, context), landscape, 64)
        landscape = Landscape(96)
        context = TunerContext(landscape.task, landscape.space, seed, (), host, shared)
        informed = host.make("tuner", "xgb", {}, context).propose(16)
        alone = host.make("tuner", "xgb", {}, context_for(landscape, host, seed=seed)).propose(16)
        gains.append(_best(landscape, alone) / _best(landscape, informed))
    assert median(gains) > 1.05


def test_the_history_of_other_tasks_is_used_as_well(host):
    other, landscape = Landscape(64), Landscape(96)
    history = other.measure_all(other.space.sample(random.Random(0), 200))
    informed = host.make("tuner", "xgb", {}, context_for(landscape, host, history=history))
    alone = host.make("tuner", "xgb", {}, context_for(landscape, host))
    assert _best(landscape, informed.propose(16)) < _best(landscape, alone.propose(16))


def test_a_lost_device_is_not_held_against_the_config(host):
    landscape = Landscape()
    good = landscape.measure_all(landscape.space.sample(random.Random(0), 40))
    lost = [
        Trial(
            MeasureInput(landscape.task, config),
            MeasureResult(failure=Failure(FailureKind.DEVICE_LOST)),
        )
        for config in landscape.space.sample(random.Random(9), 40)
    ]
    from tilewright_search.models.experience import Experience

    experience = Experience.of(context_for(landscape, host, history=[*good, *lost]), "knobs")
    assert len(experience.rows(landscape.task)[0]) == 40


def test_failed_configs_get_the_worst_score(host):
    from tilewright_search.models.experience import Experience

    landscape = Landscape()
    trials = landscape.measure_all(landscape.space.sample(random.Random(0), 100))
    experience = Experience.of(context_for(landscape, host, history=trials), "knobs")
    features, scores, groups = experience.rows(landscape.task)
    failed = [trial.result.failure is not None for trial in trials]
    assert any(failed)
    assert scores.max() == 1
    assert (scores[failed] == 0).all()
    assert (scores[np.logical_not(failed)] > 0).all()
    assert np.isfinite(features).all()
    assert len(features) == len(scores) == len(groups) == 100


def test_an_unknown_cost_model_names_those_installed(host):
    with pytest.raises(UsageError, match="ridge"):
        host.make("tuner", "xgb", {"cost_model": "rigde"}, context_for(Landscape(), host))


def test_of_many_own_trials_the_fastest_and_the_latest_are_learned_from(host, monkeypatch):
    from tilewright_search.models import experience

    monkeypatch.setattr(experience, "_OWN_ROWS", 40)
    landscape = Landscape()
    trials = landscape.measure_all(landscape.space.sample(random.Random(0), 100))
    known = experience.Experience.of(context_for(landscape, host, history=trials), "knobs")
    features, scores, groups = known.rows(landscape.task)
    throughput = [1 / t.result.seconds if t.result.seconds else 0.0 for t in trials]
    best = max(throughput)
    fastest = sorted(throughput, reverse=True)[:20]
    expected = {round(value / best, 5) for value in [*fastest, *throughput[-20:]]}
    assert {round(float(score), 5) for score in scores} == expected
    assert 20 <= len(scores) == len(features) == len(groups) <= 40


@pytest.mark.parametrize("name", ["xgb", "evolutionary"])
def test_with_epsilon_a_batch_holds_random_configs(host, name):
    landscape = Landscape()
    history = landscape.measure_all(landscape.space.sample(random.Random(0), 64))

    def batch(epsilon):
        context = context_for(landscape, host, history=history)
        return host.make("tuner", name, {"epsilon": epsilon}, context).propose(16)

    led, mixed, blind = batch(0), batch(0.3), batch(1)
    assert not set(led) & set(blind)
    assert 8 <= len(set(led) & set(mixed)) < 16
    assert _best(landscape, led) < median(_best(landscape, [config]) for config in blind)


def test_the_population_holds_every_alternative_and_the_fastest_measured(host, monkeypatch):
    from tilewright_search.tuners import evolutionary

    populations = []

    def spy(space, population, score, generator, **rest):
        populations.append(population)
        return dict(zip(population, score(population).tolist(), strict=True))

    monkeypatch.setattr(evolutionary, "evolve", spy)
    landscape = Landscape()
    narrow = [c for c in landscape.space.points() if c.strategy == "hill/narrow"][:300:10]
    history = landscape.measure_all(narrow)
    host.make("tuner", "evolutionary", {}, context_for(landscape, host, history=history)).propose(4)
    population = [landscape.space.get(index) for index in populations[0]]
    shares = Counter(config.strategy for config in population if config not in narrow)
    assert shares.total() == 128
    assert min(shares["hill/narrow"], shares["hill/wide"]) > 128 / 3
    timed = sorted((t for t in history if t.result.seconds), key=lambda t: t.result.seconds)
    assert population[0] == timed[0].input.config


def test_programs_are_lowered_for_the_model_where_it_is_asked_to_see_loops(host):
    asked = []

    def shared(key, make):
        asked.append(key)
        return make()

    landscape = Landscape()
    context = TunerContext(landscape.task, landscape.space, 0, (), host, shared)
    host.make("tuner", "xgb", {}, context)
    assert not any("loops" in key for key in asked)
    host.make("tuner", "xgb", {"features": "loops"}, context)
    assert any("loops" in key for key in asked)


MISBEHAVING = """
from tilewright import Component, hookimpl

class Model:
    def __init__(self, options, context):
        pass

    def fit(self, features, scores, groups):
        if {fails}:
            raise ValueError("on purpose")

    def predict(self, features):
        return 7

@hookimpl
def tilewright_cost_models():
    return [Component("odd", "a cost model", lambda: Model)]

@hookimpl
def tilewright_featurize(task, configs):
    return 7
"""


@pytest.mark.parametrize(
    ("fails", "message"), [(True, "on purpose"), (False, "predict() gave '7'")]
)
def test_a_cost_model_that_misbehaves_is_told_with_plugin_file_and_line(fails, message, tmp_path):
    path = tmp_path / "odd.py"
    path.write_text(MISBEHAVING.format(fails=fails))
    host, landscape = PluginHost.load([path]), Landscape()
    options = {"cost_model": "odd", "features": "knobs"}
    tuner = host.make("tuner", "evolutionary", options, context_for(landscape, host))
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        run(tuner, landscape, 256)
    assert error.value.__notes__ == [f"in the cost model 'odd' of file {path}, {path}:4"]


@pytest.mark.parametrize("tuner", ["xgb", "evolutionary"])
def test_in_a_run_the_cost_model_that_misbehaves_is_named_not_the_tuner(tuner, tmp_path):
    """The tuner is called under its own name; it only passes on what the model raised."""
    path = tmp_path / "odd.py"
    path.write_text(MISBEHAVING.format(fails=True))
    host, landscape = PluginHost.load([path]), Landscape()
    options = {"cost_model": "odd", "features": "knobs"}
    made = host.make("tuner", tuner, options, context_for(landscape, host))
    with pytest.raises(ValueError, match="on purpose") as error:
        run(Blamed(made, host, "tuner", tuner), landscape, 256)
    assert error.value.__notes__ == [f"in the cost model 'odd' of file {path}, {path}:4"]


def test_a_featuriser_that_answers_wrongly_is_named_and_the_next_is_asked(tmp_path, monkeypatch):
    monkeypatch.delenv("TILEWRIGHT_STRICT_PLUGINS", raising=False)
    path = tmp_path / "odd.py"
    path.write_text(MISBEHAVING.format(fails=False))
    host, landscape = PluginHost.load([path]), Landscape()
    tuner = host.make("tuner", "evolutionary", {"features": "loops"}, context_for(landscape, host))
    assert len(run(tuner, landscape, 128)) == 128
    (plugin,) = (one for one in host.plugins if one.state == "failed")
    assert plugin.owner.module == str(path)
    assert plugin.reasons == ["tilewright_featurize: expected Features, got a int"]
