"""Configs of AutoTVM's CUDA templates, as the points of our spaces that come nearest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import log2, prod
from typing import Any

from tilewright.space.alternative import Alternative
from tilewright.space.feasible.constraint import holds
from tilewright.vocabulary.config import ConfigEntity
from tilewright_tensor.logs.autotvm_reader import PREFIX


def template_of(foreign: ConfigEntity) -> str:
    """The AutoTVM template that a config belongs to, empty where it is another system's."""
    return foreign.strategy.removeprefix(PREFIX) if foreign.strategy.startswith(PREFIX) else ""


def block(split: Sequence[int]) -> int:
    """Elements of a split `[blocks, vthread, thread, inner]` that one block computes."""
    return prod(split[1:])


def of_thread(split: Sequence[int]) -> int:
    """Elements of such a split that one thread computes: virtual threads are its own."""
    return int(split[1] * split[3]) if len(split) == 4 else int(split[-1])


def nearest(alternative: Alternative, wanted: Mapping[str, int]) -> ConfigEntity | None:
    """The feasible point whose numbers differ least, as factors; None where there is none.

    A knob that is not wanted takes its first values.
    """

    def distance(name: str, value: Any) -> float:
        if name not in wanted:
            return 0.0
        return abs(log2(max(1, int(value))) - log2(max(1, wanted[name])))

    knobs = [
        sorted(((distance(knob.name, v), n, v) for n, v in enumerate(knob.values)))
        for knob in alternative.knobs
    ]
    names = [knob.name for knob in alternative.knobs]
    points = sorted(
        product(*knobs), key=lambda point: (sum(d for d, _, _ in point), [n for _, n, _ in point])
    )
    for point in points:
        values = {name: value for name, (_, _, value) in zip(names, point, strict=True)}
        if all(holds(constraint, values) for constraint in alternative.constraints):
            return ConfigEntity(alternative.name, values)
    return None
