"""Trials until a tuner comes within 2 % of the optimum, on recorded spaces: no hardware needed.

    uv run --with optuna python benchmarks/search_trials.py [--seeds 20] [--tuners xgb random]

Every number is a median over seeds. The project does not depend on Optuna, so `--with optuna`, or
`pip install optuna`, brings it; without it its row is missing. Its TPE is given a variable for each
factor of a split, with an order, and is told of each trial before it is asked for the next; repeats
and infeasible points that it asks for are not counted, but after 1000 questions it is stopped. The
other tuners see a batch at a time, as in a run. `effort` is what a tuner thinks for each trial.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from math import log
from pathlib import Path
from statistics import median

from result_data import Row
from saving import add_save_options, save

from tilewright.host.plugin_host import PluginHost
from tilewright.vocabulary.config import ConfigEntity
from tilewright_testing.support.recording import Recording
from tilewright_testing.tuner import context_for

TUNERS = ("random", "genetic", "xgb", "evolutionary")
PEER = "Optuna TPE"
NEAR = 1.02
_QUESTIONS = 1000

Search = Callable[[Recording, int], Iterator[float | None]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--recordings", type=Path, default=Path("tests/search/data"))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--limit", type=int, default=1000, help="trials after which a search ends")
    parser.add_argument("--tuners", nargs="+", default=[*TUNERS, PEER])
    add_save_options(parser)
    options = parser.parse_args()
    rows, tpe_rows = [], []
    host = PluginHost.load()
    found = sorted(options.recordings.glob("*.records.jsonl.gz"))
    searches: dict[str, Search] = {}
    for name in options.tuners:
        try:
            searches[name] = tpe() if name == PEER else ours(host, name, options.batch)
        except ImportError:
            print("Optuna is not installed: its row is missing\n")
    print("| recording | tuner | trials | range | of random's | best after 64 | effort ms |")
    print("|---|---|---|---|---|---|---|")
    for recording in (Recording(host, path) for path in found):
        baseline = 0.0
        for name, search in searches.items():
            start = time.perf_counter()
            runs = [play(search, recording, seed, options.limit) for seed in range(options.seeds)]
            spent = time.perf_counter() - start
            needed = sorted(trials for trials, _ in runs)
            done = sum(max(trials, 64) for trials in needed)
            baseline = baseline or median(needed)
            print(
                f"| {recording.name} | {name} | {median(needed):.0f} | {needed[0]} to {needed[-1]} "
                f"| {median(needed) / baseline:.2f} | {median(best for _, best in runs):.3f} "
                f"| {spent / done * 1e3:.1f} |",
                flush=True,
            )
            if name != "random":
                peer = name == PEER
                (tpe_rows if peer else rows).append(
                    Row(
                        case=recording.name if peer else f"{recording.name}: {name}",
                        ours=median(needed),
                        peer=baseline if "random" in searches else None,
                        details={
                            "seeds": options.seeds,
                            "least": needed[0],
                            "most": needed[-1],
                            "best after 64": median(best for _, best in runs),
                        },
                    )
                )
    save(options, "search_trials", rows, packages=["xgboost"])
    save(options, "search_tpe", tpe_rows, packages=["optuna"])


def play(search: Search, recording: Recording, seed: int, limit: int) -> tuple[int, float]:
    """Trials until one is near the optimum (or the limit), and the best of 64 over the optimum."""
    best, after_64, needed = float("inf"), float("inf"), 0
    for trials, seconds in enumerate(search(recording, seed), 1):
        best = min(best, seconds or best)
        if trials <= 64:
            after_64 = best
        if not needed and best <= NEAR * recording.best_seconds:
            needed = trials
        if trials >= limit or (needed and trials >= 64):
            break
    return needed or limit, after_64 / recording.best_seconds


def ours(host: PluginHost, name: str, batch: int) -> Search:
    """Seconds of trial after trial of an installed tuner."""

    def search(recording: Recording, seed: int) -> Iterator[float | None]:
        tuner = host.make("tuner", name, {}, context_for(recording, host, seed=seed))
        while configs := tuner.propose(batch):
            trials = recording.measure_all(configs)
            tuner.observe(trials)
            yield from (trial.result.seconds for trial in trials)

    return search


def tpe() -> Search:
    """Seconds of trial after trial of Optuna's TPE. Raises ImportError."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def search(recording: Recording, seed: int) -> Iterator[float | None]:
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
        seen: dict[ConfigEntity, float] = {}
        slow = 0.0
        for _ in range(_QUESTIONS):
            trial = study.ask()
            config = suggest(trial, recording)
            if config not in recording.space:
                # As bad as anything: told of a failure, it would ask for the like for ever.
                study.tell(trial, 2 * slow or 1.0)
                continue
            if config in seen:
                study.tell(trial, seen[config])
                continue
            seconds = recording.true_seconds(config)
            slow = max(slow, seconds or slow)
            seen[config] = seconds or slow or 1.0
            study.tell(trial, seen[config])
            yield seconds

    return search


def suggest(trial, recording: Recording) -> ConfigEntity:
    """The point that a trial of Optuna asks for: an alternative, and one value of each knob.

    Numbers are told as such, and splits by their factors: our tuners see these too.
    """
    names = [alternative.name for alternative in recording.space.alternatives]
    name = trial.suggest_categorical("alternative", names)
    alternative = recording.space.alternatives[names.index(name)]
    values = {}
    for knob in alternative.knobs:
        title = f"{name}.{knob.name}"
        if isinstance(knob.values[0], tuple) and is_amount(knob.values[0]):
            values[knob.name] = suggest_split(trial, title, knob.values)
        elif is_amount(knob.values):
            values[knob.name] = suggest_amount(trial, title, set(knob.values))
        else:
            place = trial.suggest_categorical(title, list(range(len(knob))))
            values[knob.name] = knob.values[place]
    return ConfigEntity(name, values)


def suggest_split(trial, title: str, splits: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """A split by its factors, innermost first, which give the outermost.

    Of the values that the inner factors leave to one, the nearest to what is asked for is taken, so
    that every question is one of the splits.
    """
    left = splits
    for place in reversed(range(1, len(splits[0]))):
        asked = suggest_amount(trial, f"{title}.{place}", {split[place] for split in splits})
        possible = {split[place] for split in left}
        taken = min(possible, key=lambda size: abs(log(size / asked)))
        left = [split for split in left if split[place] == taken]
    return left[0]


def suggest_amount(trial, title: str, amounts: set[int]) -> int:
    """One of some numbers, by its place in their order."""
    ordered = sorted(amounts)
    return ordered[trial.suggest_int(title, 0, len(ordered) - 1)]


def is_amount(values: Sequence) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) for value in values)


if __name__ == "__main__":
    main()
