"""A sketch: the shape of a schedule, its sizes left open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright_tensor.derived.problem import Problem
from tilewright_tensor.derived.vectors import Vectors, layouts_of
from tilewright_tensor.layout import Layout
from tilewright_tensor.schedule import Schedule

Values = Mapping[str, Any]


class Plan(Protocol):
    """Part of a sketch: knobs, and what they stand for."""

    @property
    def stage(self) -> str:
        """What it computes."""
        ...

    @property
    def vectors(self) -> Vectors:
        """The vector axis and the layouts that suit it."""
        ...

    def with_vectors(self, vectors: Vectors) -> Plan:
        """The same with another vector axis: known once every rule has been applied."""
        ...

    def declare(self, problem: Problem, schedule: Schedule, knobs: Knobs) -> None:
        """Declare the open choices."""
        ...

    def apply(
        self, problem: Problem, s: Schedule, values: Values, layouts: Mapping[str, Layout]
    ) -> Schedule:
        """The schedule with the choices made."""
        ...

    def cost(self, schedule: Schedule, values: Values) -> float:
        """A guess at how bad the choices are, to compare those of one sketch by."""
        ...

    def constant_layout(
        self, problem: Problem, schedule: Schedule, name: str, values: Values
    ) -> str | None:
        """How a constant is best arranged; None where this part has no opinion."""
        ...


@dataclass(frozen=True, eq=False)
class Sketch:
    """A named shape of a schedule.

    name      what the rules did, joined by `+`
    schedule  the steps without open choices: what was inlined, cached
    plans     the rest, the last stage's first
    """

    name: str
    schedule: Schedule
    plans: tuple[Plan, ...]

    def alternative(self, problem: Problem, prefix: str) -> Alternative:
        """Its open choices as knobs."""
        alternative = self._declared(problem, prefix)
        if next(alternative.indexes(), None) is None and problem.limits.threads > 1:
            # too small to keep every thread busy
            alone = replace(problem, limits=replace(problem.limits, threads=1))
            return self._declared(alone, prefix)
        return alternative

    def _declared(self, problem: Problem, prefix: str) -> Alternative:
        knobs = Knobs(f"{prefix}/{self.name}")
        knobs.define_knob("layouts", self._vectors.choices)
        for plan in self.plans:
            plan.declare(problem, self.schedule, knobs)
        return knobs.alternative()

    def cost(self, values: Values) -> float:
        """A guess at how bad the choices are, without measurement."""
        return sum(plan.cost(self.schedule, values) for plan in self.plans)

    def layouts(self, problem: Problem, values: Values) -> dict[str, Layout]:
        """Layout of every operand, output and stage."""
        found = layouts_of(problem, self.schedule, self._vectors, values["layouts"])
        for name in problem.constants:
            for plan in self.plans:
                if text := plan.constant_layout(problem, self.schedule, name, values):
                    found[name] = Layout.parse(text)
        return found

    def scheduled(self, problem: Problem, values: Values) -> Schedule:
        """The schedule that the values stand for; its steps replay."""
        layouts, s = self.layouts(problem, values), self.schedule
        for tensor in (*problem.dag.inputs, *problem.dag.outputs):
            layout = layouts[tensor.name]
            if layout.text != Layout.logical(len(tensor.shape)).text:
                s = s.transform_layout(tensor, layout.text)
        for plan in self.plans:
            s = plan.apply(problem, s, values, layouts)
        return s

    @property
    def _vectors(self) -> Vectors:
        return max((plan.vectors for plan in self.plans), key=lambda one: len(one.choices))
