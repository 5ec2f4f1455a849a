"""What a minute of tuning finds beside what twenty minutes find, each from nothing.

    uv run python benchmarks/short_search.py [--networks resnet50,zoo:mobilenet_v2] [--threads 2]
        [--short 60s] [--long 1200s] [--save]

Each network is tuned and given layouts twice, with records of its own each time. Both are then
compiled and run in turns: medians, and the median of the ratios of neighbours.
"""

from __future__ import annotations

import argparse
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from networks import model_name
from result_data import Row
from saving import add_save_options, save

import tilewright
from tilewright.vocabulary.target import Target
from tilewright_graph.cli.network_race import NetworkRace
from tilewright_graph.network.random_inputs import random_arrays

NETWORKS = "resnet50,densenet121,zoo:mobilenet_v2"
PAIRS = 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--networks", default=NETWORKS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--short", default="60s")
    parser.add_argument("--long", default="1200s")
    add_save_options(parser)
    options = parser.parse_args()
    print(f"| network | {options.short} ms | {options.long} ms | long over short |")
    print("|---|---|---|---|", flush=True)
    for model in map(model_name, options.networks.split(",")):
        short, long = in_turns(model, [options.short, options.long], options.threads)
        ratio = median(b / a for a, b in zip(short, long, strict=True))
        name = model.partition(":")[2]
        row = Row(case=name, ours=median(short), peer=median(long), speedup=ratio)
        print(f"| {name} | {row.ours:.2f} | {row.peer:.2f} | {ratio:.3f} |", flush=True)
        save(options, "short_search", [row])


def in_turns(model: str, budgets: list[str], threads: int) -> list[list[float]]:
    """Milliseconds of the networks that searches of these budgets find, turn by turn."""
    target = Target.parse(f"x86:threads={threads}")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        found: list[Any] = []
        for budget in budgets:
            records = Path(folder) / f"{budget}.jsonl"
            race = NetworkRace(Path(folder) / budget, records, tune=budget)
            race.row("network", {"model": model}, target)
            compiled = tilewright.compile(model, target=target, records=records)
            found.append(stack.enter_context(compiled))
            compiled.run(random_arrays(compiled.inputs, 0))
        turns = [[one.time() * 1e3 for one in found] for _ in range(PAIRS)]
    return [list(column) for column in zip(*turns, strict=True)]


if __name__ == "__main__":
    main()
