"""Searches side by side on recorded spaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf, isfinite
from statistics import median
from typing import TYPE_CHECKING, Any

from tilewright_search.cli.searches.curve import Search, play
from tilewright_search.cli.searches.outcome import EARLY, JUDGED, Outcome

if TYPE_CHECKING:
    from tilewright_records.spaces.recorded_space import RecordedSpace

_WIDTHS = (8, 8, 19, 8, 8, 6, 5, 6, 9)
"""Of the columns behind the names."""
_REACHED = ("to 10 %", "to 5 %", "to 2 %", "to 1 %")
_HEAD = ("space", "tuner", *_REACHED, "of base", "p", "area", f"at {EARLY}", "think ms")


class Comparison:
    r"""Every search on every space, with every seed; the first search is the baseline.

    >>> comparison = Comparison(spaces, searches, seeds=20, limit=2000)
    >>> for lines in comparison.play():     # a table for people, as it comes to be
    ...     print("\n".join(lines))
    >>> comparison.to_json()
    """

    def __init__(
        self,
        spaces: Sequence[RecordedSpace],
        searches: Mapping[str, Search],
        seeds: int,
        limit: int,
    ) -> None:
        self.spaces, self.searches = list(spaces), dict(searches)
        self.seeds, self.limit = seeds, limit
        self.outcomes: dict[tuple[str, str], Outcome] = {}

    def play(self) -> Iterator[list[str]]:
        """Lines of the table: its head, those of each search on each space, the sums."""
        names = ([space.name for space in self.spaces], list(self.searches))
        widths = (*(max(map(len, ("space", *each))) for each in names), *_WIDTHS)
        yield [_line(_HEAD, widths)]
        for space in self.spaces:
            for name, search in self.searches.items():
                curves = (play(search, space, seed, self.limit) for seed in range(self.seeds))
                outcome = Outcome(name, space.name, tuple(curves))
                self.outcomes[name, space.name] = outcome
                cells = _cells(outcome, outcome.row(self._base(space.name)), self.limit)
                yield [_line(cells, widths)]
        yield ["", *self._summary()]

    def to_json(self) -> dict[str, Any]:
        """Settings, spaces, a row for each search and space, and one for each search."""
        return {
            "baseline": self.baseline,
            "seeds": self.seeds,
            "limit": self.limit,
            "spaces": [
                {
                    "space": space.name,
                    "configs": len(space.results),
                    "within_2_percent": space.count_within(JUDGED),
                    "device": space.device,
                }
                for space in self.spaces
            ],
            "rows": [outcome.row(self._base(outcome.space)) for outcome in self.outcomes.values()],
            "tuners": [
                {
                    "tuner": name,
                    "of_baseline": share if isfinite(share) else None,
                    "spaces": len(self.spaces),
                }
                for name, share in self.shares().items()
            ],
        }

    @property
    def baseline(self) -> str:
        return next(iter(self.searches))

    def shares(self) -> dict[str, float]:
        """By search: its trials to 2 % as a share of the baseline's, the median over the spaces."""
        return {
            name: median(self._share(name, space.name) for space in self.spaces)
            for name in self.searches
        }

    def _share(self, name: str, space: str) -> float:
        share = self.outcomes[name, space].of(self._base(space))
        return inf if share is None else share

    def _base(self, space: str) -> Outcome:
        return self.outcomes[self.baseline, space]

    def _summary(self) -> Iterator[str]:
        count = f"{len(self.spaces)} space{'s' * (len(self.spaces) > 1)}"
        yield f"trials to {JUDGED} % as a share of {self.baseline}'s, median over {count}:"
        width = max(map(len, self.searches))
        for name, share in self.shares().items():
            told = f"{share:.2f}" if isfinite(share) else "beyond the limit"
            yield f"  {name:{width}}  {told}"


def _cells(outcome: Outcome, row: Mapping[str, Any], limit: int) -> Iterator[str]:
    yield outcome.space
    yield outcome.tuner
    for percent in (10, 5, 2, 1):
        name = f"trials_to_{percent}_percent"
        told = _trials(row[name], limit)
        if percent == JUDGED:
            low, high = (_trials(value, limit) for value in row[f"{name}_quartiles"])
            told += f" ({low}-{high})"
        yield told
    yield _number(row["of_baseline"], ".2f")
    yield _number(row["p_value"], ".3f")
    yield _number(row["area"], ".2f")
    yield _number(row[f"best_after_{EARLY}"], ".3f")
    yield f"{row['thinking_seconds_per_trial'] * 1e3:.2f}"


def _line(cells: Iterable[str], widths: Sequence[int]) -> str:
    padded = (
        f"{cell:<{width}}" if place < 2 else f"{cell:>{width}}"
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return " ".join(padded).rstrip()


def _trials(value: float | None, limit: int) -> str:
    return f">{limit}" if value is None else f"{value:.0f}"


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
