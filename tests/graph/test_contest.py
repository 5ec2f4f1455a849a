"""Which programs stay, of networks whose times are known and whose clock is theirs."""

from __future__ import annotations

from random import Random

import pytest

from tilewright_graph.finals.contest import Rival, contest


class Machine:
    """Runs take 10 ms, with noise and now and then an interrupt, and what `adds` says."""

    def __init__(self, adds, seed=0):
        self.adds = adds
        self.random = Random(seed)
        self.now = 0.0
        self.programs = []

    def run(self, programs):
        noise = self.random.gauss(0, 1e-4) + (self.random.random() < 0.02) * 5e-3
        seconds = 1e-2 + noise + self.adds(tuple(programs))
        self.now += seconds
        self.programs.append(tuple(programs))
        return seconds

    def contest(self, counts, seconds=12.0, seed=0):
        return contest(counts, self.run, seconds, seed, lambda: self.now)


def each(*costs):
    """What programs add, by place and program."""
    return lambda programs: sum(own[n] for own, n in zip(costs, programs, strict=True))


def test_what_is_faster_stays_and_what_is_slower_leaves():
    machine = Machine(each((0, -1e-4, 2e-4), (0, 3e-4), (0, 0, -2e-4)))
    outcome = machine.contest([3, 2, 3])
    assert outcome.standing == (1, 0, 2)
    total = outcome.total.difference
    assert total.low < -3e-4 < total.high < 0
    assert outcome.verdicts[Rival(1, 1)].difference.low > 0
    assert outcome.runs == len(machine.programs)


def test_a_large_effect_elsewhere_hides_no_small_one():
    outcome = Machine(each((0, -1e-4), (0, -3e-3), (0, 4e-3))).contest([2, 2, 2])
    assert outcome.standing == (1, 1, 0)


def test_of_two_that_are_faster_the_fastest_stays():
    assert Machine(each((0, -1e-3, -2e-3))).contest([3]).standing == (2,)


def test_ties_keep_what_was():
    for seed in range(10):
        outcome = Machine(each(*[(0, 0, 0)] * 8), seed).contest([3] * 8, seconds=4, seed=seed)
        assert outcome.standing == (0,) * 8


def test_what_won_and_is_no_gain_in_fresh_runs_is_given_back():
    machine = Machine(lambda programs: 0.0)
    machine.adds = lambda programs: programs[0] * (-1e-3 if len(machine.programs) < 64 else 1e-5)
    outcome = machine.contest([2])
    assert outcome.winners == (1,)
    assert outcome.standing == (0,)
    assert outcome.total.difference.high >= 0


def test_two_places_are_not_judged_by_one_pair_alone():
    """Both runs of a pair have some rivals: each place's coin is its own."""
    machine = Machine(each(*[(0, 0)] * 6))
    machine.contest([2] * 6, seconds=1)
    mixed = [0 < sum(programs) < 6 for programs in machine.programs]
    assert sum(mixed) > len(mixed) / 2


def test_a_pair_exchanges_every_place():
    machine = Machine(each(*[(0, 0, 0)] * 4))
    machine.contest([3] * 4, seconds=2)
    begun = machine.programs[:64]  # before anything is decided
    pairs = zip(begun[::2], begun[1::2], strict=True)
    assert all(a != b and 0 in (a, b) for pair in pairs for a, b in zip(*pair, strict=True))


@pytest.mark.parametrize("counts", [[], [1, 1]])
def test_without_rivals_nothing_runs(counts):
    machine = Machine(each(*[(0,)] * len(counts)))
    assert machine.contest(counts).standing == (0,) * len(counts)
    assert not machine.programs


def test_no_time_decides_nothing():
    outcome = Machine(each((0, -1e-3))).contest([2], seconds=0)
    assert (outcome.standing, outcome.runs) == ((0,), 0)
    assert outcome.verdicts[Rival(0, 1)].difference is None


def test_equal_seeds_draw_equal_programs():
    first, second = (Machine(each((0, 1e-4, 0), (0, 0))) for _ in range(2))
    for machine in (first, second):
        machine.contest([3, 2], seconds=1, seed=7)
    assert first.programs == second.programs
