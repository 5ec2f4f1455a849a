"""The stages that the steps of an Ansor record speak of.

Ansor numbers stages, operands included, in topological order. A cache or a factored sum gets a
number of its own, and those behind it move on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tilewright.json_object import BadLineError, UnknownLineError

MAX_STEPS = 512
_MAX_STAGES = 64

Steps = Sequence[Sequence[Any]]


class Stages(NamedTuple):
    """Of a record: its product, and what follows. Numbers are those before any step.

    product   the stage that is tiled
    extents   of its loops, where the steps split all of them in turn, else empty
    spatial   how many of these are no sums
    operands  for each stage behind it, how many operands stand before that
    """

    product: int
    extents: tuple[int, ...]
    spatial: int
    operands: tuple[int, ...]

    @classmethod
    def of(cls, steps: Steps) -> Stages:
        """Raises BadLineError for steps that are none, UnknownLineError where nothing is tiled."""
        if not isinstance(steps, list) or len(steps) > MAX_STEPS:
            raise BadLineError(f"no list of at most {MAX_STEPS} steps")
        used = list(_numbered(steps))
        splits = Counter(number for number, step in used if step[0] == "SP")
        if not splits:
            raise UnknownLineError("no step splits a loop: there is no product in tiles")
        product = splits.most_common(1)[0][0]
        behind = sorted({number for number, _ in used if number > product})
        between = zip([product, *behind], behind, strict=False)
        own = [step for number, step in used if number == product and step[0] == "SP"]
        return cls(product, *_loops(own), tuple(b - a - 1 for a, b in between))


def renumber(stages: list[Any], step: Sequence[Any], made: Any) -> None:
    """Put what a step makes into a list of stages."""
    code, stage = step[0], step[1]
    if code in ("CHW", "RF"):
        stages.insert(stage, made)
    elif code == "CHR":
        stages.insert(stage + 1, made)


def _numbered(steps: Steps) -> Iterator[tuple[int, Sequence[Any]]]:
    """Every step with the stage that it is about; twice where it is about two."""
    numbers = list(range(_MAX_STAGES))
    for step in steps:
        about = step[1:3] if step[0] == "CA" else step[1:2]
        for one in about:
            if type(one) is not int or not 0 <= one < _MAX_STAGES:
                raise BadLineError(f"a stage numbered {one!r}"[:80])
            yield numbers[one], step
        renumber(numbers, step, numbers[step[1]])


def _loops(splits: Steps) -> tuple[tuple[int, ...], int]:
    """(extents, how many are spatial), where every loop is split in its turn.

    Tiles have more levels of spatial loops than of sums, which come last.
    """
    extents, levels, place = [], [], 0
    for _, _, loop, extent, lengths, _ in splits:
        if loop != place or type(extent) is not int or extent < 1:
            return (), 0
        extents.append(extent)
        levels.append(len(lengths))
        place += len(lengths) + 1
    spatial = levels.count(max(levels))
    if spatial == len(levels) or levels != sorted(levels, reverse=True):
        return (), 0
    return tuple(extents), spatial
