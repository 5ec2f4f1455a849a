"""Tuners side by side on recorded spaces."""

from __future__ import annotations

import json
import re
from math import inf
from statistics import median
from xml.etree import ElementTree as ET

import pytest
from hills import hill, write_hill

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright_cli.terminal.group import run
from tilewright_search.cli.searches.comparison import Comparison
from tilewright_search.cli.searches.curve import Curve, play
from tilewright_search.cli.searches.network_tuning import tune_network
from tilewright_search.cli.searches.outcome import Outcome
from tilewright_search.cli.searches.page import page
from tilewright_search.cli.searches.tuner_search import tuner_search

BEST_FIRST = '''
"""The tuner `oracle`, which knows the answers, and `stuck`, which proposes one config for ever."""
from tilewright import Component, hookimpl


class Oracle:
    def __init__(self, options, context):
        self.left = list(context.space.points())
        self.left.sort(key=lambda config: sum(map(len, map(str, config.values.values()))))

    def propose(self, count):
        taken, self.left = self.left[:count], self.left[count:]
        return taken

    def observe(self, trials):
        pass


class Stuck(Oracle):
    def propose(self, count):
        return self.left[:1]


@hookimpl
def tilewright_tuners():
    return [
        Component("oracle", "short configs first", load=lambda: Oracle),
        Component("stuck", "one config for ever", load=lambda: Stuck),
    ]
'''

PICKY = """
from tilewright import Component, hookimpl
from tilewright.options import Options


class PickyOptions(Options):
    batch: int = 16


class Picky:
    def __init__(self, options, context):
        self.batch, self.left = options.batch, list(context.space.points())
        assert context.batch == self.batch

    def propose(self, count):
        assert count == self.batch
        taken, self.left = self.left[:count], self.left[count:]
        return taken

    def observe(self, trials):
        pass


@hookimpl
def tilewright_tuners():
    return [Component("picky", "batches of one size", lambda: Picky, lambda: PickyOptions)]
"""


@pytest.fixture(scope="module")
def hills(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hills")
    write_hill(folder, 16, "small")
    write_hill(folder, 24, "large", timings=False)
    return folder


@pytest.fixture
def bench(hills, tmp_path, monkeypatch, capsys):
    """A function that runs the verb: (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments, spaces=hills):
        code = run(["bench", "tuners", "--spaces", str(spaces), *map(str, arguments)])
        return code, *capsys.readouterr()

    return call


def recite(*ratios):
    """A search that asks for configs of these multiples of the best seconds of a space."""

    def search(space, seed):
        by_time = sorted(
            (result.seconds, config.text, config)
            for config, result in space.results.items()
            if result.seconds is not None
        )
        for ratio in ratios:
            yield next(c for seconds, _, c in by_time if seconds >= ratio * space.best_seconds)

    return search


def test_a_curve_says_when_it_came_near():
    curve = Curve((inf, 1.5, 1.1, 1.1, 1.015), (1.0, 2.0, 3.0, 4.0, 5.0), 0.5)
    assert [curve.trials_to(p) for p in (60, 10.1, 2, 1)] == [2, 3, 5, inf]
    assert [curve.seconds_to(p) for p in (60, 10.1, 2, 1)] == [2, 3, 5, inf]
    assert curve.after(2) == 1.5
    assert curve.after(64) == 1.015
    assert curve.area == pytest.approx((0 + 1 / 1.5 + 2 / 1.1 + 196 / 1.015) / 200)
    assert Curve((1.0,), (), 0.0).seconds_to(1) is None


def test_a_search_is_over_within_one_percent_or_at_the_limit():
    space = hill()
    assert len(play(recite(2, 1.5, 1, 1.2), space, 0, 100).ratios) == 3
    assert len(play(recite(2, 1.5, 1, 1.2), space, 0, 2).ratios) == 2
    ended = play(recite(2), space, 0, 100)
    assert len(ended.ratios) == 1
    assert 0.01 < ended.seconds[0] <= 0.01 + ended.thinking


def test_a_share_of_what_no_seed_reached_is_unknown():
    reached = Outcome("a", "s", (Curve((2.0, 1.0), (), 0.0),) * 3)
    missed = Outcome("b", "s", (Curve((2.0,) * 8, (), 0.0),) * 3)
    assert reached.of(missed) == 2 / 8
    assert missed.of(reached) is None
    assert missed.row(reached)["trials_to_2_percent"] is None
    assert missed.row(reached)["trials_to_2_percent_quartiles"] == [None, None]


def test_every_space_has_a_row_for_each_tuner_and_the_baseline(bench):
    code, out, err = bench("--tuners", "xgb,{evolutionary: {measured: 8}}", "--seeds", 3, "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert [(row["space"], row["tuner"]) for row in told["rows"]] == [
        (space, tuner)
        for space in ("large", "small")
        for tuner in ("random", "xgb", "evolutionary (measured=8)")
    ]
    assert (told["seeds"], told["limit"], told["baseline"]) == (3, 2000, "random")
    for row in told["rows"]:
        trials = [row[f"trials_to_{percent}_percent"] for percent in (10, 5, 2, 1)]
        assert trials == sorted(trials)
        low, high = row["trials_to_2_percent_quartiles"]
        assert low <= row["trials_to_2_percent"] <= high
        assert 0 < row["area"] <= 1 <= row["best_after_64"]
        assert row["thinking_seconds_per_trial"] > 0
        assert (row["seconds_to_2_percent"] is None) == (row["space"] == "large")
        assert (row["p_value"] is None) == (row["tuner"] == "random")
    random_rows = [row for row in told["rows"] if row["tuner"] == "random"]
    assert [row["of_baseline"] for row in random_rows] == [1, 1]
    shares = {
        tuner["tuner"]: [r["of_baseline"] for r in told["rows"] if r["tuner"] == tuner["tuner"]]
        for tuner in told["tuners"]
    }
    assert [tuner["of_baseline"] for tuner in told["tuners"]] == [
        pytest.approx(median(found)) for found in shares.values()
    ]


def test_equal_seeds_find_the_same(bench):
    once, again = (
        json.loads(bench("--tuners", "genetic", "--seeds", 2, "--json")[1])["rows"] for _ in "12"
    )
    names = ("trials_to_2_percent", "area", "best_after_64")
    assert [[row[n] for n in names] for row in once] == [[row[n] for n in names] for row in again]


def test_a_tuner_of_a_file_is_compared(bench, tmp_path):
    (tmp_path / "mine.py").write_text(BEST_FIRST)
    code, out, _ = bench("--plugin", "mine.py", "--tuners", "oracle,stuck", "--seeds", 2)
    assert code == 0
    rows = [line.split() for line in out.splitlines()[1:7]]
    assert [row[:2] for row in rows] == [
        [space, tuner] for space in ("large", "small") for tuner in ("random", "oracle", "stuck")
    ]
    assert re.search(r"^  stuck +beyond the limit$", out, re.MULTILINE)
    assert re.search(r"^  random +1.00$", out, re.MULTILINE)


def test_the_page_is_one_file_that_needs_nothing_else(bench, tmp_path):
    code, out, _ = bench(
        *("--tuners", "genetic", "--seeds", 2, "--html", "a/page.html", "--json", "found.json")
    )
    assert code == 0
    assert "genetic" in out
    text = (tmp_path / "a" / "page.html").read_text()
    assert text.count("<svg") == 2
    assert "http" not in text
    assert "<script" not in text
    for drawing in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        assert len(ET.fromstring(drawing).findall("polyline")) == 2
    rows = json.loads((tmp_path / "found.json").read_text())["rows"]
    assert len(rows) == 4
    for row in rows:
        low, high = row["trials_to_2_percent_quartiles"]
        assert f"<td>{low:.0f} to {high:.0f}</td>" in text
        assert f"<td>{row['area']:.2f}</td>" in text
    told = [row["seconds_to_2_percent"] for row in rows]
    assert [f"<td>{s:.3g}</td>" in text for s in told if s is not None] == [True] * 2


def test_names_are_text_on_the_page():
    space = hill(8, "<b>&")
    comparison = Comparison([space], {"<script>": recite(1.6, 1.3), "b": recite(1.5, 1)}, 2, 50)
    for _ in comparison.play():
        pass
    text = page(comparison)
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "&lt;b&gt;&amp;" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--tuners", "evolutionry"), "did you mean 'evolutionary'"),
        (("--tuners", "[xgb"), "--tuners"),
        (("--tuners", ""), "expected one or more names"),
        (("--tuners", "{xgb: {chans: 3}}"), "chans: unknown key"),
        (("--tuners", "hyperopt:tpe"), "no peer 'hyperopt'"),
        (("--baseline", "none"), "no tuner named 'none'"),
        (("--seeds", "0"), "0 is not in the range"),
        (("--html", "."), "--html"),
    ],
)
def test_a_mistake_is_one_message(bench, arguments, said):
    code, out, err = bench(*arguments)
    assert (code, out) == (2, "")
    assert said in err


def test_a_space_that_is_not_there_is_one_message(bench):
    code, _, err = bench(spaces="nowhere")
    assert code == 2
    assert "no recorded space 'nowhere'" in err


def test_two_spaces_of_one_name_are_one_message(bench, hills, tmp_path):
    write_hill(tmp_path / "other", 8, "small")
    code, _, err = bench(spaces=f"{hills},other")
    assert code == 2
    assert "two spaces are called 'small'" in err


def test_a_cache_of_kernel_tuners_is_played(bench, tmp_path):
    sizes, tiles = [16, 32, 64, 128], [1, 2, 4, 8, 16]
    entries = {
        f"{x},{tile}": {"x": x, "tile": tile, "time": 1 + abs(x - 64) / 64 + 0.1 * tile}
        for x in sizes
        for tile in tiles
        if x * tile <= 512
    }
    params = {"x": sizes, "tile": tiles}
    data = {"kernel_name": "k", "tune_params_keys": list(params), "tune_params": params}
    (tmp_path / "gpu.json").write_text(json.dumps({**data, "cache": entries}))
    code, out, _ = bench("--tuners", "xgb,grid", "--seeds", 2, "--json", spaces="gpu.json")
    assert code == 0
    rows = json.loads(out)["rows"]
    assert [row["space"] for row in rows] == ["k@gpu"] * 3
    assert all(row["trials_to_1_percent"] <= len(entries) for row in rows)


def test_a_tuner_is_asked_for_batches_of_its_own_size_as_in_a_run(tmp_path):
    (tmp_path / "picky.py").write_text(PICKY)
    host, five = PluginHost.load([tmp_path / "picky.py"]), Choice("picky", {"batch": 5})
    assert len(play(tuner_search(host, five), hill(8), 0, 12).ratios) == 12
    tasks = [(hill(8), 1.0)]
    totals = tune_network(host, Choice("round-robin"), five, tasks, seed=0, trials=12)
    assert len(totals) == 12


def test_a_fault_of_a_tuner_keeps_its_traceback_and_names_it(hills, tmp_path):
    (tmp_path / "bad.py").write_text(BEST_FIRST.replace("self.left[:1]", "self.nothing"))
    search = tuner_search(PluginHost.load([tmp_path / "bad.py"]), Choice("stuck"))
    with pytest.raises(AttributeError) as raised:
        play(search, hill(8), 0, 10)
    assert "stuck" in str(raised.value.__notes__)
    with pytest.raises(UsageError):
        tuner_search(PluginHost.load(), Choice("stuck"))
