"""Part of a sketch: the open choices of some stages, and the steps that these stand for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from tilewright.space.knobs import Knobs
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.sketch_input import SketchInput
from tilewright_tensor.sketches.structure.vectors import SCALAR, Vectors

Values = Mapping[str, Any]
"""What was chosen, by knob."""


def foreign_layouts(values: Values) -> int:
    """How many of the chosen layouts are not logical, so that neighbours may have to transform."""
    layouts = map(Layout.parse, values["layouts"])
    return sum(layout != Layout.logical(layout.rank) for layout in layouts)


@dataclass(frozen=True, eq=False)
class OpenNest(ABC):
    """How a stage is computed, sizes left open.

    stage    what it computes
    vectors  the vector axis and the layouts that suit it
    """

    stage: str
    vectors: Vectors = field(default=SCALAR, kw_only=True)

    def with_vectors(self, vectors: Vectors) -> Self:
        """The same with another vector axis: known once every rule has been applied."""
        return replace(self, vectors=vectors)

    @abstractmethod
    def declare(self, problem: SketchInput, schedule: Schedule, knobs: Knobs) -> None:
        """Declare the open choices."""

    @abstractmethod
    def apply(
        self, problem: SketchInput, s: Schedule, values: Values, layouts: Mapping[str, Layout]
    ) -> Schedule:
        """The schedule with the choices made."""

    @abstractmethod
    def cost(self, problem: SketchInput, schedule: Schedule, values: Values) -> float:
        """A guess at how bad the choices are, to compare those of one sketch by."""

    def operand_layout(
        self, problem: SketchInput, schedule: Schedule, name: str, values: Values
    ) -> str | None:
        """How an operand, or a stage that is read, lies best; None where it is all the same."""
        return None
