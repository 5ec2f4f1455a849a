"""`tilewright bench models` and `bench schedulers` on recorded spaces, saved for the page.

    uv run python benchmarks/models_and_schedulers.py [--spaces ...] [--seeds 3]

Each cost model ranks configs of a space that it has not seen, after random ones of the same space:
means over spaces and seeds, without times, which other work on the machine changes. Schedulers
spend the trials of a network whose tasks are the spaces, each once: medians over seeds. `--told
FILE...` takes what both commands print with `--json`, such as of one space and seed each, in place
of asking for all of it here.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from result_data import Row
from saving import add_save_options, save

_FIGURES = {
    "pairwise": "pairs in order",
    "correlation": "correlation of ranks",
    "regret": "regret",
}
_SHARES = {25: "a quarter", 50: "half", 75: "three quarters", 100: "all"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--spaces", help="as of `bench tuners`; all installed ones by default")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--told", nargs="+", type=Path, help="what the commands print")
    add_save_options(parser)
    options = parser.parse_args()
    files = options.told or ()
    tables = [json.loads(file.read_text("utf-8")) for file in files] or list(asked(options))
    ranked, spent = models(tables), list(schedulers(tables))
    for row in ranked + spent:
        told = ", ".join(f"{name}: {figure}" for name, figure in row.details.items())
        beside = "" if row.peer is None else f" beside {row.peer:.3g}"
        print(f"{row.case}: {row.ours:.3g}{beside}; {told}")
    save(options, "recorded_models", ranked, packages=["xgboost-cpu"])
    save(options, "recorded_schedulers", spent, packages=["xgboost-cpu"])


def asked(options: argparse.Namespace) -> Iterator[Mapping[str, Any]]:
    """What both commands say of all spaces."""
    spaces = ["--spaces", options.spaces] if options.spaces else []
    for seed in range(options.seeds):
        yield said("models", "--seed", str(seed), *spaces)
    yield said("schedulers", "--schedulers", "gradient", "--seeds", str(options.seeds), *spaces)


def said(*words: str) -> Mapping[str, Any]:
    """Raises CalledProcessError where the command fails; it has said why."""
    command = [str(Path(sys.executable).with_name("tilewright")), "bench", *words, "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    table: Mapping[str, Any] = json.loads(done.stdout)
    return table


def models(tables: Sequence[Mapping[str, Any]]) -> list[Row]:
    """A row for each cost model and kind of features; means over tables of equally many spaces."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for one in (one for table in tables for one in table.get("models", ()) if "recall" in one):
        found.setdefault(f"{one['model']} on {one['features']}", []).append(one)
    return [
        Row(
            case=case,
            ours=fmean(one["recall"] for one in own),
            details={
                "spaces and seeds": sum(one["tasks"] for one in own),
                **{name: fmean(one[key] for one in own) for key, name in _FIGURES.items()},
            },
        )
        for case, own in found.items()
    ]


def schedulers(tables: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """A row for each scheduler and quarter of the trials, beside the first: the baseline."""
    for table in tables:
        baseline, *others = table.get("rows", [None])
        for row in others:
            for share, words in _SHARES.items():
                key = f"percent_above_best_at_{share}"
                if row[key] is None or baseline[key] is None:
                    continue  # a task had no time yet
                yield Row(
                    case=f"{row['scheduler']} after {words} of {table['trials']} trials",
                    ours=row[key],
                    peer=baseline[key],
                    details={
                        "tasks": len(table["spaces"]),
                        "seeds": table["seeds"],
                        "tuner": table["tuner"],
                        **({"p at the end": row["p_value"]} if share == 100 else {}),
                    },
                )


if __name__ == "__main__":
    main()
