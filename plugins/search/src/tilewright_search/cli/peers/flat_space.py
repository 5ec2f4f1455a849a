"""A space as a list of ordered parameters, as other systems want it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

from tilewright.space.alternative import Alternative
from tilewright.space.config_space import ConfigSpace
from tilewright.space.entities.knob_values import KnobValues
from tilewright.vocabulary.config import ConfigEntity


@dataclass(frozen=True, slots=True)
class Parameter:
    """One choice of an alternative: a knob, or a factor of a knob that is a split.

    values   numbers in their order, or the places of values that have none
    ordered  whether near values are alike
    """

    name: str
    values: tuple[int, ...]
    ordered: bool


def parameters(alternative: Alternative) -> Iterator[Parameter]:
    """The parameters of an alternative, in order of its knobs; splits innermost factor first."""
    for knob in alternative.knobs:
        name = f"{alternative.name}.{knob.name}"
        if is_split(knob):
            for place in reversed(range(1, len(knob.values[0]))):
                factors = tuple(sorted({split[place] for split in knob.values}))
                yield Parameter(f"{name}.{place}", factors, ordered=True)
        elif is_amount(knob.values):
            yield Parameter(name, tuple(sorted(knob.values)), ordered=True)
        else:
            yield Parameter(name, tuple(range(len(knob))), ordered=False)


def config_of(space: ConfigSpace, name: str, chosen: dict[str, int]) -> ConfigEntity:
    """The config of an alternative whose parameters have these values; splits take the nearest.

    Of the splits that the inner factors leave, those whose next factor is nearest to the chosen one
    are taken, so that every choice is one of the splits.
    """
    alternative = next(each for each in space.alternatives if each.name == name)
    values: dict[str, Any] = {}
    for knob in alternative.knobs:
        title = f"{name}.{knob.name}"
        if is_split(knob):
            values[knob.name] = _nearest_split(knob, title, chosen)
        elif is_amount(knob.values):
            values[knob.name] = chosen[title]
        else:
            values[knob.name] = knob.values[chosen[title]]
    return ConfigEntity(name, values)


def flat(config: ConfigEntity, alternative: Alternative) -> dict[str, int]:
    """The values of an alternative's parameters in a config: the inverse of `config_of`."""
    found: dict[str, int] = {}
    for knob in alternative.knobs:
        value, title = config[knob.name], f"{alternative.name}.{knob.name}"
        if is_split(knob):
            found |= {f"{title}.{place}": value[place] for place in range(1, len(value))}
        else:
            found[title] = value if is_amount(knob.values) else knob.values.index(value)
    return found


def is_split(knob: KnobValues) -> bool:
    """Whether the values are lists of numbers, all equally many."""
    first = knob.values[0]
    return isinstance(first, tuple) and all(
        isinstance(value, tuple) and len(value) == len(first) and is_amount(value)
        for value in knob.values
    )


def is_amount(values: Sequence[Any]) -> bool:
    """Whether all values are whole numbers."""
    return all(isinstance(value, int) and not isinstance(value, bool) for value in values)


def _nearest_split(knob: KnobValues, title: str, chosen: dict[str, int]) -> tuple[int, ...]:
    left: list[tuple[int, ...]] = list(knob.values)
    for place in reversed(range(1, len(left[0]))):
        asked = chosen[f"{title}.{place}"]
        possible = {split[place] for split in left}
        taken = min(possible, key=lambda size: abs(log(max(size, 1) / max(asked, 1))))
        left = [split for split in left if split[place] == taken]
    return left[0]
