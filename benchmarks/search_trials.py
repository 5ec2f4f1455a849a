"""`tilewright bench tuners` on the installed recorded spaces, with its figures saved for the page.

    uv run --with optuna python benchmarks/search_trials.py [--seeds 20] [--spaces matmul,depthwise]

Trials until a tuner comes within 2 % of the optimum, medians over seeds, beside random search. The
project does not depend on Optuna, so `--with optuna` brings it; without it its row is missing.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from math import isfinite

from result_data import Row
from saving import add_save_options, save

from tilewright.host.plugin_host import PluginHost
from tilewright.options import Choice
from tilewright_search.cli.named_searches import named_searches
from tilewright_search.cli.recorded_spaces import recorded_spaces
from tilewright_search.cli.searches.comparison import Comparison
from tilewright_search.cli.searches.outcome import JUDGED

TUNERS = ("genetic", "xgb", "evolutionary")
PEER = "optuna:tpe"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--spaces", help="as of `bench tuners`; all installed ones by default")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--limit", type=int, default=2000, help="trials after which a search ends")
    add_save_options(parser)
    options = parser.parse_args()
    names = [*TUNERS, *([PEER] if find_spec("optuna") else [])]
    searches = named_searches(PluginHost.load(), list(map(Choice, names)), Choice("random"))
    comparison = Comparison(recorded_spaces(options.spaces), searches, options.seeds, options.limit)
    for lines in comparison.play():
        print("\n".join(lines), flush=True)
    tpe = rows(comparison, (PEER,)) if PEER in names else []
    save(options, "search_trials", rows(comparison, TUNERS), packages=["xgboost"])
    save(options, "search_tpe", tpe, packages=["optuna"])


def rows(comparison: Comparison, names: tuple[str, ...]) -> list[Row]:
    """A row for each space and tuner that came so near within the limit."""
    found = []
    for space in comparison.spaces:
        baseline = comparison.outcomes["random", space.name].trials_to(JUDGED)
        for name in names:
            outcome = comparison.outcomes[name, space.name]
            needed = [curve.trials_to(JUDGED) for curve in outcome.curves]
            if isfinite(outcome.trials_to(JUDGED)):
                found.append(
                    Row(
                        case=space.name if name == PEER else f"{space.name}: {name}",
                        ours=outcome.trials_to(JUDGED),
                        peer=baseline if isfinite(baseline) else comparison.limit,
                        details={
                            "seeds": comparison.seeds,
                            "least": min(needed),
                            "most": min(max(needed), comparison.limit),
                        },
                    )
                )
    return found


if __name__ == "__main__":
    main()
