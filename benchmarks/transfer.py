"""How much of a machine's optimum the best configs of another machine reach there.

    uv run python benchmarks/transfer.py [--spaces FOLDER] [--first 10,100]

For recorded spaces of one workload: each machine's best configs, of those that both spaces have,
looked up in the other's. Nothing is measured. `record_spaces.sh` records a space on another
machine.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import permutations

from result_data import Row
from saving import add_save_options, save

from tilewright.errors import UsageError
from tilewright.vocabulary.config import ConfigEntity
from tilewright_records.spaces.recorded_space import RecordedSpace
from tilewright_search.cli.recorded_spaces import recorded_spaces


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--spaces", help="as of `bench tuners`; all installed ones by default")
    parser.add_argument("--first", default="10,100", help="and the best of so many configs")
    add_save_options(parser)
    options = parser.parse_args()
    first = [int(number) for number in options.first.split(",")]
    rows = list(transfers(recorded_spaces(options.spaces), first))
    if not rows:
        raise UsageError("no two of these spaces are of one workload on two machines")
    for row in rows:
        told = ", ".join(f"{name}: {figure:g}" for name, figure in row.details.items())
        print(f"{row.case}: {row.ours} % of the optimum; {told}")
    save(options, "transfer", rows)


def transfers(spaces: Sequence[RecordedSpace], first: Sequence[int]) -> Iterator[Row]:
    """A row for each ordered pair of machines that recorded a workload.

    The share is of the optimum over the other's whole space, also of configs that only it has.
    """
    for ours, theirs in permutations(spaces, 2):
        if ours.task.workload != theirs.task.workload or ours.device == theirs.device:
            continue
        common = [config for config in _ranked(ours) if theirs.true_seconds(config) is not None]
        if not common:
            continue
        shares = {count: _share(common[:count], theirs) for count in first}
        yield Row(
            case=f"{ours.name} on {theirs.name}",
            ours=_share(common[:1], theirs),
            details={
                **{f"best of {count} in %": share for count, share in shares.items()},
                "best of all common in %": _share(common, theirs),
                "common configs": len(common),
            },
        )


def _ranked(space: RecordedSpace) -> list[ConfigEntity]:
    """The configs that worked, fastest first."""
    timed = [(space.true_seconds(config), config) for config in space.results]
    worked = [(seconds, config) for seconds, config in timed if seconds is not None]
    return [config for _, config in sorted(worked, key=lambda pair: pair[0])]


def _share(configs: Sequence[ConfigEntity], space: RecordedSpace) -> float:
    """Of the space's optimum, in percent, by the fastest of configs that work there."""
    times = (space.true_seconds(config) for config in configs)
    return round(100 * space.best_seconds / min(one for one in times if one is not None), 1)


if __name__ == "__main__":
    main()
