"""A random tuner, and what can be wrong with it. A plugin file."""

from __future__ import annotations

import random
from functools import cache

import pytest

from tilewright import Component, hookimpl
from tilewright.host.plugin_host import PluginHost
from tilewright_testing.tuner import (
    BatchTunerContract,
    ModelGuidedTunerContract,
    ReproducibleTunerContract,
    ResumableTunerContract,
    TunerContract,
    context_for,
)


class Good:
    fails = frozenset()

    def __init__(self, context):
        self.task, self.space, self.seed = context.task, context.space, context.seed
        self.seen = set()
        self.remember(context.history)

    def remember(self, history):
        self.observe([trial for trial in history if trial.input.task == self.task])

    def propose(self, count):
        configs = self.draw(random.Random(f"{self.seed}/{len(self.seen)}"), count)
        self.seen.update(configs)
        return configs

    def draw(self, rng, count):
        return self.space.sample(rng, count, exclude={*map(self.space.index, self.seen)})

    def observe(self, trials):
        configs = [trial.input.config for trial in trials]
        self.seen.update(config for config in configs if config in self.space)


class RepeatsItself(Good):
    fails = {
        "test_proposes_no_point_twice",
        "test_a_space_of_one_point_ends_with_an_empty_proposal",
        "test_leaves_out_what_others_measured",
        "test_what_is_measured_again_is_no_trouble",
        "test_goes_on_when_everything_fails",
        "test_fills_every_batch_until_the_space_runs_out",
        "test_proposes_every_feasible_point_of_a_small_space",
        "test_proposes_nothing_of_the_history",
        "test_a_full_history_is_the_end",
    }

    def draw(self, rng, count):
        return self.space.sample(rng, count)


class HeedsNoConstraint(Good):
    fails = {
        "test_a_stopped_search_goes_on_like_an_unbroken_one",
        "test_configs_that_left_the_space_are_no_trouble",
        "test_proposes_feasible_points_only",
        "test_proposes_every_feasible_point_of_a_small_space",
    }

    def draw(self, rng, count):
        points = range(self.space.size)
        drawn = map(self.space.get, rng.sample(points, min(len(points), 4 * count)))
        return [config for config in drawn if config not in self.seen][:count]


class ProposesTooMany(Good):
    fails = {
        "test_a_stopped_search_goes_on_like_an_unbroken_one",
        "test_never_proposes_more_than_asked",
        "test_a_huge_space_is_no_trouble",
        "test_fills_every_batch_until_the_space_runs_out",
    }

    def draw(self, rng, count):
        return super().draw(rng, count + 1)


class ProposesHalf(Good):
    fails = {
        "test_a_huge_space_is_no_trouble",
        "test_fills_every_batch_until_the_space_runs_out",
        "test_proposes_every_feasible_point_of_a_small_space",
        "test_the_history_of_another_task_forbids_nothing",
    }

    def draw(self, rng, count):
        return super().draw(rng, (count + 1) // 2)


class LooksAway(Good):
    fails = {"test_leaves_out_what_others_measured"}

    def remember(self, history):
        own = [trial for trial in history if trial.input.task == self.task]
        super().observe(own)

    def observe(self, trials):
        pass


class IgnoresHistory(Good):
    fails = {
        "test_proposes_nothing_of_the_history",
        "test_a_full_history_is_the_end",
        "test_a_stopped_search_goes_on_like_an_unbroken_one",
        "test_over_many_words_it_goes_on_from_any_batch_like_an_unbroken_one",
    }

    def remember(self, history):
        pass


class BelievesTheHistoryOfOthers(Good):
    fails = {"test_the_history_of_another_task_forbids_nothing"}

    def remember(self, history):
        self.observe(history)


class WantsItsOldSpace(Good):
    fails = {"test_configs_that_left_the_space_are_no_trouble"}

    def remember(self, history):
        own = [trial for trial in history if trial.input.task == self.task]
        assert all(trial.input.config in self.space for trial in own)
        super().remember(history)


class TossesCoins(Good):
    fails = {
        "test_equal_seed_and_history_give_equal_proposals",
        "test_a_stopped_search_goes_on_like_an_unbroken_one",
        "test_over_many_words_it_goes_on_from_any_batch_like_an_unbroken_one",
    }

    def draw(self, rng, count):
        return super().draw(random.Random(), count)


class StartsAgain(Good):
    """Its random numbers depend on proposals, of which a resumed search knows nothing."""

    fails = {
        "test_a_stopped_search_goes_on_like_an_unbroken_one",
        "test_over_many_words_it_goes_on_from_any_batch_like_an_unbroken_one",
    }

    proposals = 0

    def draw(self, rng, count):
        self.proposals += 1
        return super().draw(random.Random(f"{self.seed}/{self.proposals}"), count)


class NumbersWordsAsItMeetsThem(Good):
    """It met words in what it drew and did not propose, of which a resumed search knows nothing."""

    fails = {"test_over_many_words_it_goes_on_from_any_batch_like_an_unbroken_one"}

    def remember(self, history):
        self.words = {}
        super().remember(history)

    def draw(self, rng, count):
        drawn = super().draw(rng, 2 * count)
        self.note(drawn)
        rng.seed(len(self.words))
        return rng.sample(drawn, min(count, len(drawn)))

    def observe(self, trials):
        super().observe(trials)
        self.note(trial.input.config for trial in trials)

    def note(self, configs):
        values = (value for config in configs for value in config.values.values())
        self.words.update((value, None) for value in values if isinstance(value, str))


class GivesUpAfterFailures(Good):
    fails = {"test_goes_on_when_everything_fails"}

    discouraged = False

    def observe(self, trials):
        super().observe(trials)
        self.discouraged = len(trials) > 7 and all(trial.result.failure for trial in trials)

    def draw(self, rng, count):
        return [] if self.discouraged else super().draw(rng, count)


class DividesByTheSpread(Good):
    fails = {"test_equal_times_are_no_trouble"}

    def observe(self, trials):
        super().observe(trials)
        times = [trial.result.seconds for trial in trials if trial.result.seconds]
        if len(times) > 11:
            [(seconds - min(times)) / (max(times) - min(times)) for seconds in times]


class WaitsForEachConfigOnce(Good):
    fails = {"test_what_is_measured_again_is_no_trouble"}

    def __init__(self, context):
        self.waiting = set()
        super().__init__(context)

    def propose(self, count):
        configs = super().propose(count)
        self.waiting.update(configs)
        return configs

    def observe(self, trials):
        for trial in trials:
            if trial.input.config in self.seen:
                self.waiting.remove(trial.input.config)
        super().observe(trials)


class KnowsTheKnobsOfTheFirstAlternative(Good):
    fails = {"test_alternatives_with_knobs_of_their_own_are_no_trouble"}

    def observe(self, trials):
        super().observe(trials)
        knobs = [knob.name for knob in self.space.alternatives[0].knobs]
        known = [trial.input.config for trial in trials if trial.input.config in self.space]
        rows = [[config[knob] for knob in knobs] for config in known]
        assert all(rows)


class ListsTheSpace(Good):
    fails = {"test_a_huge_space_is_no_trouble"}

    def draw(self, rng, count):
        if self.space.size > 1e9:
            raise MemoryError
        return super().draw(rng, count)


class MissesTheLastPoint(Good):
    fails = {
        "test_a_space_of_one_point_ends_with_an_empty_proposal",
        "test_fills_every_batch_until_the_space_runs_out",
        "test_proposes_every_feasible_point_of_a_small_space",
        "test_the_history_of_another_task_forbids_nothing",
    }

    def draw(self, rng, count):
        drawn = super().draw(rng, count)
        if self.space.size > 10_000:  # whose last point nobody comes to
            return drawn
        *_, last = self.space.indexes()
        return [config for config in drawn if self.space.index(config) != last]


class LearnsNothing(Good):
    fails = {"test_comes_near_the_best_in_fewer_trials_than_random"}


class CannotFitFailures(Good):
    fails = {
        "test_comes_near_the_best_in_fewer_trials_than_random",
        "test_failures_and_odd_results_do_not_break_the_model",
    }

    def observe(self, trials):
        super().observe(trials)
        [1 / trial.result.seconds for trial in trials]


class DependsOnTheHashSeed(Good):
    fails = {"test_other_processes_and_hash_seeds_propose_the_same"}

    def draw(self, rng, count):
        return list(set(super().draw(rng, count)))


@hookimpl
def tilewright_tuners():
    return [
        Component(variant.__name__, "a variant", lambda variant=variant: _factory(variant))
        for variant in (Good, DependsOnTheHashSeed)
    ]


def _factory(variant):
    return lambda _options, context: variant(context)


@cache
def installed():
    return PluginHost.load()


@pytest.fixture(
    params=[
        Good,
        RepeatsItself,
        HeedsNoConstraint,
        ProposesTooMany,
        ProposesHalf,
        LooksAway,
        IgnoresHistory,
        BelievesTheHistoryOfOthers,
        WantsItsOldSpace,
        TossesCoins,
        StartsAgain,
        GivesUpAfterFailures,
        DividesByTheSpread,
        WaitsForEachConfigOnce,
        KnowsTheKnobsOfTheFirstAlternative,
        ListsTheSpace,
        MissesTheLastPoint,
    ]
)
def variant(request):
    return request.param


class TestTuners(TunerContract, BatchTunerContract, ResumableTunerContract):
    @pytest.fixture
    def make(self, variant):
        return lambda landscape, **rest: variant(context_for(landscape, installed(), **rest))


class TestGuidedTuners(ModelGuidedTunerContract):
    seeds = range(1)
    limit = 128

    @pytest.fixture(params=[LearnsNothing, CannotFitFailures])
    def variant(self, request):
        return request.param

    @pytest.fixture
    def make(self, variant):
        return lambda landscape, **rest: variant(context_for(landscape, installed(), **rest))


class TestTunersInOtherProcesses(ReproducibleTunerContract):
    @pytest.fixture(params=[Good, DependsOnTheHashSeed])
    def variant(self, request):
        return request.param

    @pytest.fixture(autouse=True)
    def named(self, variant):
        self.name = variant.__name__

    plugin_files = (__file__,)
