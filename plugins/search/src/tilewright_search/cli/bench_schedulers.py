"""`tilewright bench schedulers`: which scheduler spends a network's trials best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright_cli.terminal import shared_options as shared

if TYPE_CHECKING:
    from tilewright_records.spaces.recorded_space import RecordedSpace

_QUARTERS = (0.25, 0.5, 0.75, 1.0)


@click.command()
@click.option("--schedulers", "names", metavar="NAME,...", help="[all installed]")
@click.option("--tuner", default=None, help="Of every task.  [the default tuner]")
@shared.recorded_spaces
@click.option(
    "--weight",
    "weights",
    multiple=True,
    metavar="SPACE=NUMBER",
    help="How often a task occurs in the network.  [1]",
)
@click.option("--baseline", default="round-robin", show_default=True)
@click.option("--seeds", type=click.IntRange(1), default=10, show_default=True)
@click.option("--trials", type=click.IntRange(1), help="Of all tasks together.  [64 a task]")
@shared.plugin_files
@shared.as_json
def schedulers(
    *,
    names: str | None,
    tuner: str | None,
    spaces: str | None,
    weights: tuple[str, ...],
    baseline: str,
    seeds: int,
    trials: int | None,
    plugin: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Compare task schedulers on recorded spaces, taken for the tasks of one network.

    Shows how much slower the network is than the best there is, in percent, after each quarter of
    the trials, medians over seeds.
    """
    from tilewright.options import Choice
    from tilewright_cli.terminal.choice_text import choice_of, choices_of
    from tilewright_pipeline.measuring.significance import mann_whitney
    from tilewright_search.cli.named_searches import title_of
    from tilewright_search.cli.recorded_spaces import recorded_spaces
    from tilewright_search.cli.searches.network_tuning import tune_network

    host = shared.load_host(plugin)
    every = [Choice(name) for name in host.components("scheduler")]
    chosen = every if names is None else choices_of("--schedulers", names)
    base = choice_of("--baseline", baseline)
    titled = {title_of(choice): choice for choice in (base, *chosen)}
    using = Choice(host.default("tuner")) if tuner is None else choice_of("--tuner", tuner)
    host.check("tuner", using)
    for choice in titled.values():
        host.check("scheduler", choice)
    tasks = _weighted(recorded_spaces(spaces), weights)
    count = trials or 64 * len(tasks)
    rows: list[dict[str, Any]] = []
    totals: list[float] = []
    for title, choice in titled.items():
        curves = [
            tune_network(host, choice, using, tasks, seed=seed, trials=count)
            for seed in range(seeds)
        ]
        ends = [curve[-1] for curve in curves]
        totals = totals or ends
        luck = None if ends is totals else mann_whitney(ends, totals)
        rows.append({"scheduler": title, **_after_quarters(curves, count), "p_value": luck})
        if not as_json:
            _say(rows, len(tasks), using.name, count)
    if as_json:
        told = {"spaces": [space.name for space, _ in tasks], "tuner": using.name}
        shared.print_json({**told, "trials": count, "seeds": seeds, "rows": rows})


def _weighted(
    spaces: Sequence[RecordedSpace], weights: Sequence[str]
) -> list[tuple[RecordedSpace, float]]:
    """Each space with its weight. Raises UsageError for a weight that is none, or of no space."""
    from tilewright.errors import UsageError, did_you_mean

    told = {}
    for text in weights:
        name, _, number = text.partition("=")
        if name not in {space.name for space in spaces}:
            remedy = did_you_mean(name, [space.name for space in spaces])
            raise UsageError(f"no space '{name}'", where="--weight", remedy=remedy)
        try:
            told[name] = float(number)
        except ValueError:
            told[name] = 0.0
        if not 0 < told[name] < 1e6:
            raise UsageError(f"expected {name}=NUMBER, got {text!r}", where="--weight")
    return [(space, told.get(space.name, 1.0)) for space in spaces]


def _after_quarters(curves: Sequence[Sequence[float]], trials: int) -> dict[str, float | None]:
    """After each quarter of so many trials, or at a curve's end where it has fewer."""
    from math import isfinite
    from statistics import median

    found: dict[str, float | None] = {}
    for share in _QUARTERS:
        count = max(1, round(share * trials))
        after = median(curve[min(count, len(curve)) - 1] for curve in curves)
        percent = 100 * (after - 1)
        found[f"percent_above_best_at_{share * 100:.0f}"] = percent if isfinite(percent) else None
    return found


def _say(rows: Sequence[Mapping[str, Any]], tasks: int, tuner: str, trials: int) -> None:
    if len(rows) == 1:
        shared.say(f"{tasks} tasks, {tuner}, {trials} trials; percent above the best there is:")
        shared.say("scheduler            1/4     1/2     3/4     end       p")
    name, *figures, p_value = rows[-1].values()
    cells = ("      -" if figure is None else f"{figure:7.2f}" for figure in figures)
    told = "     -" if p_value is None else f"{p_value:6.3f}"
    shared.say(f"{name:16} {' '.join(cells)}  {told}")
