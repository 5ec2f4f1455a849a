"""What every tuner keeps to. Subclass, give its `name`, and inherit the capabilities it claims.

>>> class TestMine(TunerContract, BatchTunerContract, ResumableTunerContract):
...     name, options = "mine", {"patience": 3}
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import pytest

from tilewright.host.contexts import TunerContext
from tilewright.host.plugin_host import PluginHost
from tilewright.roles import Tuner
from tilewright.space.config_space import ConfigSpace
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.measure import (
    Conditions,
    Failure,
    FailureKind,
    MeasureInput,
    MeasureResult,
    Trial,
)
from tilewright_testing.component import ComponentContract
from tilewright_testing.support.landscape import Landscape

_FEW_POINTS = 4  # size of a landscape with 444 of them: who has no memory soon repeats himself


def context_for(
    landscape: Landscape,
    host: PluginHost,
    *,
    seed: int = 0,
    history: Sequence[Trial] = (),
    space: ConfigSpace | None = None,
) -> TunerContext:
    """What the tuning loop would give a tuner of this task; two contexts share nothing."""
    made: dict[Any, Any] = {}

    def shared(key: Any, make: Callable[[], Any]) -> Any:
        if key not in made:
            made[key] = make()
        return made[key]

    space = landscape.space if space is None else space
    return TunerContext(landscape.task, space, seed, tuple(history), host, shared)


def batches(tuner: Tuner, landscape: Landscape, count: int) -> Iterator[list[Trial]]:
    """Batch after batch, proposed, measured and observed, until the tuner is exhausted."""
    while configs := tuner.propose(count):
        trials = landscape.measure_all(configs)
        tuner.observe(trials)
        yield trials


def run(tuner: Tuner, landscape: Landscape, trials: int, count: int = 16) -> list[ConfigEntity]:
    """The configs of the first so many trials, in order."""
    done: list[ConfigEntity] = []
    for batch in batches(tuner, landscape, count):
        done += [trial.input.config for trial in batch]
        if len(done) >= trials:
            break
    return done


class TunerBasics(ComponentContract):
    """Makes the tuner that a subclass names."""

    role = "tuner"

    @pytest.fixture
    def make(self, host: PluginHost) -> Callable[..., Tuner]:
        """`make(landscape, seed=..., history=..., space=...)` gives a fresh tuner."""

        def make(landscape: Landscape, **rest: Any) -> Tuner:
            context = context_for(landscape, host, **rest)
            tuner: Tuner = self.made(host, context)
            return tuner

        return make


class TunerContract(TunerBasics):
    """Every tuner: feasible points only, each once, and an empty proposal only at the end."""

    def test_proposes_feasible_points_only(self, make: Callable[..., Tuner]) -> None:
        landscape = Landscape()
        for config in run(make(landscape), landscape, 64):
            assert landscape.space.is_valid(config), config.text

    def test_proposes_no_point_twice(self, make: Callable[..., Tuner]) -> None:
        landscape = Landscape(_FEW_POINTS)
        proposed = run(make(landscape), landscape, 128)
        assert proposed
        assert len(set(proposed)) == len(proposed)

    def test_never_proposes_more_than_asked(self, make: Callable[..., Tuner]) -> None:
        landscape = Landscape()
        tuner = make(landscape)
        for count in (1, 7, 2, 16):
            configs = tuner.propose(count)
            assert 0 < len(configs) <= count
            tuner.observe(landscape.measure_all(configs))

    def test_a_space_of_one_point_ends_with_an_empty_proposal(
        self, make: Callable[..., Tuner]
    ) -> None:
        landscape = Landscape()
        tuner = make(landscape, space=_numbers(1))
        assert len(tuner.propose(16)) == 1
        assert list(tuner.propose(16)) == []

    def test_leaves_out_what_others_measured(self, make: Callable[..., Tuner]) -> None:
        landscape = Landscape(_FEW_POINTS)
        strangers = landscape.space.sample(random.Random(5), 200)
        tuner = make(landscape)
        tuner.observe(landscape.measure_all(strangers))
        assert not set(run(tuner, landscape, 64)) & set(strangers)

    def test_goes_on_when_everything_fails(self, make: Callable[..., Tuner]) -> None:
        landscape = Landscape(_FEW_POINTS)
        tuner = make(landscape)
        proposed: list[ConfigEntity] = []
        for _ in range(4):
            configs = tuner.propose(16)
            assert configs
            tuner.observe([_failed(landscape, config) for config in configs])
            proposed += configs
        assert len(set(proposed)) == len(proposed)

    def test_equal_times_are_no_trouble(self, make: Callable[..., Tuner]) -> None:
        landscape = Landscape()
        tuner = make(landscape)
        for _ in range(4):
            configs = tuner.propose(16)
            assert configs
            tuner.observe([_timed(landscape, config, 1e-3) for config in configs])

    def test_what_is_measured_again_is_no_trouble(self, make: Callable[..., Tuner]) -> None:
        """Finalists are observed twice, with a time or a failure, and conditions of their own."""
        landscape = Landscape(_FEW_POINTS)
        tuner = make(landscape)
        proposed = run(tuner, landscape, 32)
        again = [landscape.measure(proposed[0]), _failed(landscape, proposed[1])]
        in_turns = Conditions(turns=3)
        tuner.observe([replace(t, input=replace(t.input, conditions=in_turns)) for t in again])
        assert not set(run(tuner, landscape, 32)) & set(proposed)

    def test_alternatives_with_knobs_of_their_own_are_no_trouble(
        self, make: Callable[..., Tuner]
    ) -> None:
        landscape, space = Landscape(), _unlike()
        tuner = make(landscape, space=space)
        proposed: list[ConfigEntity] = []
        for _ in range(4):
            configs = tuner.propose(16)
            proposed += configs
            tuner.observe([_timed(landscape, c, 1e-3 * (1 + len(c.text))) for c in configs])
        assert proposed
        assert all(map(space.is_valid, proposed))

    def test_a_huge_space_is_no_trouble(self, make: Callable[..., Tuner]) -> None:
        knobs = Knobs("huge")
        for place in range(12):
            knobs.define_knob(f"k{place}", range(10))
        space = ConfigSpace([knobs.alternative()])
        tuner = make(Landscape(), space=space)
        configs = tuner.propose(16)
        assert len(set(configs)) == 16

    def test_equal_seed_and_history_give_equal_proposals(self, make: Callable[..., Tuner]) -> None:
        landscape = Landscape()
        history = landscape.measure_all(landscape.space.sample(random.Random(1), 24))
        first, second = (
            run(make(landscape, seed=3, history=history), landscape, 48) for _ in range(2)
        )
        assert first == second


class ReproducibleTunerContract(TunerBasics):
    """Equal proposals in every process."""

    def test_other_processes_and_hash_seeds_propose_the_same(self, host: PluginHost) -> None:
        answers = [
            subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "tilewright_testing.proposals",
                    self.name,
                    json.dumps(dict(self.options)),
                    *map(str, host.files),
                ],
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for seed in ("1", "2")
        ]
        assert answers[0].count("\n") >= 48
        assert answers[0] == answers[1]


class BatchTunerContract(TunerBasics):
    """A tuner that fills batches (capability `batch`) and so exhausts a space exactly."""

    def test_fills_every_batch_until_the_space_runs_out(self, make: Callable[..., Tuner]) -> None:
        landscape = Landscape()
        tuner = make(landscape, space=_numbers(37))
        sizes = [len(tuner.propose(16)) for _ in range(4)]
        assert sizes == [16, 16, 5, 0]

    def test_proposes_every_feasible_point_of_a_small_space(
        self, make: Callable[..., Tuner]
    ) -> None:
        landscape = Landscape()
        space = _numbers(41, most=30)
        tuner = make(landscape, space=space)
        proposed: list[ConfigEntity] = []
        for _ in range(6):
            configs = tuner.propose(7)
            tuner.observe([_timed(landscape, c, 1e-3 * (1 + c["n"])) for c in configs])
            proposed += configs
        assert sorted(config["n"] for config in proposed) == list(range(31))


class ResumableTunerContract(TunerBasics):
    """A tuner that goes on from a history as if it had never been stopped (capability `resume`)."""

    def test_proposes_nothing_of_the_history(self, make: Callable[..., Tuner]) -> None:
        landscape = Landscape(_FEW_POINTS)
        history = landscape.measure_all(landscape.space.sample(random.Random(2), 200))
        known = {trial.input.config for trial in history}
        assert not known & set(run(make(landscape, history=history), landscape, 64))

    def test_a_full_history_is_the_end(self, make: Callable[..., Tuner]) -> None:
        landscape, space = Landscape(), _numbers(11)
        history = [_timed(landscape, config, 1e-3) for config in space.points()]
        assert list(make(landscape, space=space, history=history).propose(4)) == []

    def test_the_history_of_another_task_forbids_nothing(self, make: Callable[..., Tuner]) -> None:
        landscape, other = Landscape(), Landscape(size=48)
        space = _numbers(11)
        history = [_timed(other, config, 1e-3) for config in space.points()]
        assert len(make(landscape, space=space, history=history).propose(16)) == 11

    def test_a_stopped_search_goes_on_like_an_unbroken_one(
        self, make: Callable[..., Tuner]
    ) -> None:
        landscape = Landscape()
        unbroken = run(make(landscape, seed=4), landscape, 80)
        history = landscape.measure_all(unbroken[:48])
        resumed = run(make(landscape, seed=4, history=history), landscape, 32)
        assert resumed[:32] == unbroken[48:80]

    def test_over_many_words_it_goes_on_from_any_batch_like_an_unbroken_one(
        self, make: Callable[..., Tuner]
    ) -> None:
        landscape, space = Landscape(), _motley()
        unbroken, history = make(landscape, space=space, seed=4), list[Trial]()
        for _ in range(5):
            resumed = make(landscape, space=space, seed=4, history=history)
            configs = unbroken.propose(16)
            assert list(resumed.propose(16)) == list(configs)
            trials = [_timed(landscape, c, 1e-3 * (1 + c["number"])) for c in configs]
            unbroken.observe(trials)
            history += trials

    def test_configs_that_left_the_space_are_no_trouble(self, make: Callable[..., Tuner]) -> None:
        landscape = Landscape()
        gone = [ConfigEntity("removed", {"x": n, "place": "outer"}) for n in range(24)]
        history = [_timed(landscape, config, 1e-4 * (1 + config["x"])) for config in gone]
        tuner = make(landscape, history=history)
        assert all(landscape.space.is_valid(config) for config in tuner.propose(16))


class ModelGuidedTunerContract(TunerBasics):
    """A tuner that learns (capability `model`): it needs fewer trials than random search."""

    seeds = range(5)
    limit = 640

    def test_comes_near_the_best_in_fewer_trials_than_random(
        self, make: Callable[..., Tuner], host: PluginHost
    ) -> None:
        landscape = Landscape()
        ours = [self._needed(make(landscape, seed=seed), landscape) for seed in self.seeds]
        theirs = [
            self._needed(
                host.make("tuner", "random", {}, context_for(landscape, host, seed=seed)), landscape
            )
            for seed in self.seeds
        ]
        assert median(ours) * 2 < median(theirs), (ours, theirs)

    def test_failures_and_odd_results_do_not_break_the_model(
        self, make: Callable[..., Tuner]
    ) -> None:
        landscape = Landscape()
        tuner = make(landscape)
        configs = tuner.propose(16)
        tuner.observe([_timed(landscape, configs[0], 1e-3)])
        tuner.observe([_failed(landscape, config) for config in configs[1:]])
        assert tuner.propose(16)

    def _needed(self, tuner: Tuner, landscape: Landscape) -> int:
        """Trials until one comes within 2 % of the best there is, or the limit."""
        done = 0
        for batch in batches(tuner, landscape, 16):
            for trial in batch:
                done += 1
                seconds = landscape.true_seconds(trial.input.config)
                if done == self.limit or (seconds and seconds <= landscape.best_seconds * 1.02):
                    return done
        return self.limit


def _numbers(size: int, most: int | None = None) -> ConfigSpace:
    """A space of the numbers below `size`, of which those up to `most` are feasible."""
    knobs = Knobs("numbers")
    number = knobs.define_knob("n", range(size))
    if most is not None:
        knobs.constrain(number <= most)
    return ConfigSpace([knobs.alternative()])


def _motley() -> ConfigSpace:
    """Three alternatives with words of their own, more than a batch can have."""
    alternatives = []
    for name in ("direct", "packed", "tiled"):
        knobs = Knobs(name)
        knobs.define_knob("number", range(1, 9))
        knobs.define_knob("word", [f"{name} {n}" for n in range(20)])
        alternatives.append(knobs.alternative())
    return ConfigSpace(alternatives)


def _unlike() -> ConfigSpace:
    """Alternatives that have no knob in common, one of them none at all."""
    alone, tiled, worded = map(Knobs, ("alone", "tiled", "worded"))
    tiled.define_split("rows", 36, num_outputs=3)
    worded.define_knob("word", ["outer", None, "inner"])
    worded.define_knob("order", [[0, 1], [1, 0]])
    worded.define_knob("share", [n / 8 for n in range(9)])
    return ConfigSpace([knobs.alternative() for knobs in (alone, tiled, worded)])


def _timed(landscape: Landscape, config: ConfigEntity, seconds: float) -> Trial:
    return Trial(MeasureInput(landscape.task, config), MeasureResult((seconds,)))


def _failed(landscape: Landscape, config: ConfigEntity) -> Trial:
    failure = Failure(FailureKind.CRASH, "died", "SIGSEGV")
    return Trial(MeasureInput(landscape.task, config), MeasureResult(failure=failure))
