"""Task schedulers side by side on recorded spaces."""

from __future__ import annotations

import json
from itertools import pairwise
from math import inf

import pytest
from hills import hill, write_hill

from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright_cli.terminal.group import run
from tilewright_search.cli.searches.network_tuning import tune_network


@pytest.fixture
def bench(tmp_path, monkeypatch, capsys):
    for size in (8, 12, 16):
        write_hill(tmp_path, size, f"hill{size}")
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        code = run(["bench", "schedulers", "--spaces", ".", *map(str, arguments)])
        return code, *capsys.readouterr()

    return call


def test_the_total_falls_to_that_of_the_best_configs():
    tasks = [(hill(8), 1.0), (hill(12), 3.0)]
    every = sum(len(space.results) for space, _ in tasks)
    totals = tune_network(
        PluginHost.load(), Choice("round-robin"), Choice("random"), tasks, seed=0, trials=10_000
    )
    assert len(totals) == every  # all are exhausted then
    assert totals[0] == inf
    assert totals[-1] == pytest.approx(1)
    assert all(after <= before for before, after in pairwise(totals))


def test_a_weight_counts_a_task_more_often():
    light, heavy = (
        tune_network(
            PluginHost.load(),
            Choice("round-robin"),
            Choice("random"),
            [(hill(8), 1.0), (hill(16), weight)],
            seed=0,
            trials=48,
        )
        for weight in (1.0, 1e5)
    )
    small = tune_network(
        PluginHost.load(),
        Choice("round-robin"),
        Choice("random"),
        [(hill(16), 1.0)],
        seed=0,
        trials=16,
    )
    assert light[-1] != heavy[-1]
    assert min(heavy) >= 1
    assert small[-1] >= 1


def test_each_scheduler_has_a_row_behind_the_baselines(bench):
    code, out, _ = bench("--tuner", "random", "--seeds", 3, "--trials", 96, "--json")
    assert code == 0
    told = json.loads(out)
    assert [row["scheduler"] for row in told["rows"]] == ["round-robin", "gradient"]
    assert told["spaces"] == ["hill12", "hill16", "hill8"]
    for row in told["rows"]:
        figures = [row[f"percent_above_best_at_{q}"] for q in (50, 75, 100)]
        assert figures == sorted(figures, reverse=True)
        assert figures[-1] >= 0
    assert [row["p_value"] is None for row in told["rows"]] == [True, False]


def test_the_table_has_a_line_for_each(bench):
    code, out, _ = bench("--schedulers", "gradient", "--seeds", 2, "--trials", 64)
    assert code == 0
    assert out.splitlines()[0] == "3 tasks, xgb, 64 trials; percent above the best there is:"
    assert [line.split()[0] for line in out.splitlines()[2:]] == ["round-robin", "gradient"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--weight", "hil8=2"), "did you mean 'hill8'"),
        (("--weight", "hill8=many"), "expected hill8=NUMBER"),
        (("--weight", "hill8=-1"), "expected hill8=NUMBER"),
        (("--schedulers", "gradiant"), "did you mean 'gradient'"),
        (("--tuner", "non"), "no tuner named 'non'"),
    ],
)
def test_a_mistake_is_one_message(bench, arguments, said):
    code, out, err = bench(*arguments)
    assert (code, out) == (2, "")
    assert said in err
