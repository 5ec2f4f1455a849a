"""Searches of other systems over our spaces."""

from __future__ import annotations

import random

import pytest
from hills import hill

from tilewright.errors import UsageError
from tilewright.space.config_space import ConfigSpace
from tilewright.space.knobs import Knobs
from tilewright_search.cli.peers.flat_space import config_of, flat, parameters
from tilewright_search.cli.peers.peer_search import peer_search
from tilewright_search.cli.searches.curve import play

NAMES = (
    *("optuna:tpe", "optuna:cmaes"),
    *("kernel_tuner:genetic_algorithm", "kernel_tuner:random_sample", "kernel_tuner:greedy_ils"),
)


@pytest.fixture(scope="module")
def space():
    return hill(16)


def mixed():
    knobs = Knobs("mixed")
    knobs.define_split("tile", 24, num_outputs=3)
    knobs.define_knob("number", [4, 1, 2])
    knobs.define_knob("word", ["b", "a", None])
    knobs.define_knob("flag", [False, True])
    knobs.define_knob("share", [0.5, 0.25])
    return ConfigSpace([knobs.alternative()])


def test_a_config_is_known_by_its_parameters():
    space = mixed()
    (alternative,) = space.alternatives
    listed = list(parameters(alternative))
    assert [p.ordered for p in listed] == [True, True, True, False, False, False]
    assert listed[2].values == (1, 2, 4)
    for config in space.points():
        chosen = flat(config, alternative)
        assert set(chosen) == {parameter.name for parameter in listed}
        assert all(chosen[p.name] in p.values for p in listed)
        assert config_of(space, "mixed", chosen) == config


def test_any_choice_of_parameters_is_a_point():
    space, chance = mixed(), random.Random(0)
    for _ in range(200):
        chosen = {p.name: chance.choice(p.values) for p in parameters(space.alternatives[0])}
        assert space.find(config_of(space, "mixed", chosen)) is not None


@pytest.mark.parametrize("name", NAMES)
def test_a_peer_asks_for_feasible_configs_once_and_comes_nearer(name, space):
    pytest.importorskip("cmaes" if name == "optuna:cmaes" else name.partition(":")[0])
    search = peer_search(name)
    asked = []

    def watched(recorded, seed):
        asking = search(recorded, seed)
        trial = None
        while True:
            try:
                config = asking.send(trial)
            except StopIteration:
                return
            asked.append(config)
            trial = yield config

    curve = play(watched, space, 0, 60)
    assert len(set(asked)) == len(asked)
    assert len(curve.ratios) > 5
    assert all(config in space.space for config in asked)
    assert curve.ratios[-1] < curve.ratios[3] or curve.ratios[-1] <= 1.01


@pytest.mark.parametrize("name", NAMES[:3])
def test_equal_seeds_ask_for_the_same(name, space):
    pytest.importorskip("cmaes" if name == "optuna:cmaes" else name.partition(":")[0])
    search = peer_search(name)
    first, again, other = (play(search, space, seed, 40).ratios for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("name", "package", "said"),
    [
        ("optuna:tep", "optuna", "did you mean 'tpe'"),
        ("kernel_tuner:genetic", "kernel_tuner", "no strategy 'genetic'"),
        ("nevergrad:de", "json", "no peer 'nevergrad'"),
    ],
)
def test_an_unknown_peer_is_one_clear_line(name, package, said):
    pytest.importorskip(package)
    with pytest.raises(UsageError, match=said):
        peer_search(name)


def test_a_peer_that_is_not_installed_is_one_clear_line(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    with pytest.raises(UsageError, match="needs optuna, which is not installed"):
        peer_search("optuna:tpe")


def test_a_name_without_a_colon_is_no_peer():
    assert peer_search("xgb") is None
