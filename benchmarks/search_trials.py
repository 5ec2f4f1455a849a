"""`tilewright bench tuners` on the installed recorded spaces, with its figures saved for the page.

    uv run --with optuna,cmaes,kernel-tuner python benchmarks/search_trials.py [--seeds 20]

Trials until a tuner comes within 2 % of the optimum, medians over seeds, beside random search and
beside the peer that took the fewest. The project does not depend on Optuna and Kernel Tuner, so
`--with` brings them; without one its rows are missing. A peer may take an hour a space: `--played
FILE...` takes what `bench tuners --json` wrote, such as a file a space and tuner, of any of their
searches, in place of playing all of it here.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from result_data import Row
from saving import add_save_options, save

from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright_search.cli.named_searches import named_searches
from tilewright_search.cli.recorded_spaces import recorded_spaces
from tilewright_search.cli.searches.comparison import Comparison
from tilewright_search.cli.searches.outcome import JUDGED

MODEL_GUIDED = ("xgb", "evolutionary")
TUNERS = ("genetic", *MODEL_GUIDED)
PEERS = {
    "search_tpe": "optuna:tpe",
    "search_cmaes": "optuna:cmaes",
    "search_genetic": "kernel_tuner:genetic_algorithm",
}
"""By the question that asks for it."""
_PACKAGES = ("optuna", "cmaes", "kernel-tuner")
_REACHED = f"trials_to_{JUDGED}_percent"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--spaces", help="as of `bench tuners`; all installed ones by default")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--limit", type=int, default=2000, help="trials after which a search ends")
    parser.add_argument("--played", nargs="+", type=Path, help="results of `bench tuners --json`")
    add_save_options(parser)
    options = parser.parse_args()
    tables = [json.loads(file.read_text("utf-8")) for file in options.played or ()]
    tables = tables or [played(options)]
    save(options, "search_trials", rows(tables, TUNERS), packages=["xgboost"])
    for question, peer in PEERS.items():
        save(options, question, rows(tables, [peer]), packages=_PACKAGES)
    save(options, "search_peers", beside_peers(tables), packages=["xgboost", *_PACKAGES])


def played(options: argparse.Namespace) -> Mapping[str, Any]:
    """The table of all tuners and of the peers that are installed; it is printed as it grows."""
    peers = [name for name in PEERS.values() if find_spec(name.partition(":")[0])]
    chosen = [Choice(name) for name in (*TUNERS, *peers)]
    searches = named_searches(PluginHost.load(), chosen, Choice("random"))
    comparison = Comparison(recorded_spaces(options.spaces), searches, options.seeds, options.limit)
    for lines in comparison.play():
        print("\n".join(lines), flush=True)
    return comparison.to_json()


def rows(tables: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[Row]:
    """A row for each space and tuner that came so near within the limit.

    Beside the baseline of the table that has the most seeds of it.
    """
    baseline = {
        row["space"]: table["limit"] if row[_REACHED] is None else row[_REACHED]
        for table in sorted(tables, key=lambda one: one["seeds"])
        for row in table["rows"]
        if row["tuner"] == table["baseline"]
    }
    return [
        Row(
            case=row["space"] if len(names) == 1 else f"{row['space']}: {row['tuner']}",
            ours=row[_REACHED],
            peer=baseline[row["space"]],
            details={"seeds": table["seeds"], **dict(_quartiles(row, table["limit"]))},
        )
        for table in tables
        for row in table["rows"]
        if row["tuner"] in names and row[_REACHED] is not None
    ]


def beside_peers(tables: Sequence[Mapping[str, Any]]) -> list[Row]:
    """A row for each space and model-guided tuner, beside the peer with the fewest trials there.

    Spaces on which no peer came so near within its limit are left out.
    """
    found = [(table["seeds"], row) for table in tables for row in table["rows"]]
    reached = [(seeds, row) for seeds, row in found if row[_REACHED] is not None]
    best: dict[str, tuple[int, Mapping[str, Any]]] = {}
    for seeds, row in reached:
        space = row["space"]
        is_peer = ":" in row["tuner"]
        if is_peer and (space not in best or row[_REACHED] < best[space][1][_REACHED]):
            best[space] = seeds, row
    return [
        Row(
            case=f"{row['space']}: {row['tuner']}",
            ours=row[_REACHED],
            peer=best[row["space"]][1][_REACHED],
            details={
                "seeds": seeds,
                "best peer": best[row["space"]][1]["tuner"],
                "its seeds": best[row["space"]][0],
            },
        )
        for seeds, row in reached
        if row["tuner"] in MODEL_GUIDED and row["space"] in best
    ]


def _quartiles(row: Mapping[str, Any], limit: int) -> Iterator[tuple[str, float]]:
    both = row[f"{_REACHED}_quartiles"]
    for name, value in zip(("lower quartile", "upper quartile"), both, strict=True):
        yield name, limit if value is None else value


if __name__ == "__main__":
    main()
