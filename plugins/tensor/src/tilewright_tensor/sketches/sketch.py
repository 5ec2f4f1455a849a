"""A sketch: the shape of a schedule, its sizes left open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright_tensor.layouts.layout import Layout
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.open_nest import OpenNest, Values
from tilewright_tensor.sketches.structure.sketch_input import SketchInput
from tilewright_tensor.sketches.structure.vectors import Vectors, layouts_of

_LAYOUTS = "layouts"
"""The one knob that plans share."""


@dataclass(frozen=True, eq=False)
class Sketch:
    """A named shape of a schedule.

    name      what the rules did, joined by `+`
    schedule  the steps without open choices: what was inlined, cached
    plans     the rest, the last stage's first
    """

    name: str
    problem: SketchInput
    schedule: Schedule
    plans: tuple[OpenNest, ...]

    def alternative(self, prefix: str) -> Alternative:
        """Its open choices as knobs."""
        alternative = self._declared(prefix, self.problem)
        if self.problem.limits.threads > 1 and next(alternative.indexes(), None) is None:
            # too small to keep every thread busy
            limits = replace(self.problem.limits, threads=1)
            return self._declared(prefix, replace(self.problem, limits=limits))
        return alternative

    def cost(self, values: Values) -> float:
        """A guess at how bad the choices are, without measurement."""
        return sum(plan.cost(self.problem, self.schedule, own) for plan, own in self._each(values))

    def layouts(self, values: Values) -> dict[str, Layout]:
        """Layout of every operand, output and stage."""
        problem = self.problem
        found = layouts_of(problem, self.schedule, self._vectors, values["layouts"])
        for name in found:
            for plan, own in self._each(values):
                if text := plan.operand_layout(problem, self.schedule, name, own):
                    found[name] = Layout.parse(text)
        return found

    def scheduled(self, values: Values) -> Schedule:
        """The schedule that the values stand for; its steps replay."""
        dag, layouts, s = self.problem.dag, self.layouts(values), self.schedule
        for tensor in (*dag.inputs, *dag.outputs):
            layout = layouts[tensor.name]
            if layout.text != Layout.logical(len(tensor.shape)).text:
                s = s.transform_layout(tensor, layout.text)
        return self.chosen(s, values)

    def chosen(self, s: Schedule, values: Values) -> Schedule:
        """The schedule, its operands in the layouts chosen, with all other choices made."""
        layouts = self.layouts(values)
        for plan, own in self._each(values):
            s = plan.apply(self.problem, s, own, layouts)
        return s

    def _declared(self, prefix: str, problem: SketchInput) -> Alternative:
        knobs = Knobs(f"{prefix}/{self.name}")
        knobs.define_knob(_LAYOUTS, self._vectors.choices)
        for plan, names in zip(self.plans, self._names, strict=True):
            own = Knobs(plan.stage)
            plan.declare(problem, self.schedule, own)
            knobs.include(own, names)
        return knobs.alternative()

    def _each(self, values: Values) -> Iterator[tuple[OpenNest, Values]]:
        """Every plan with the values of its own knobs, under its own names, and the layouts."""
        for plan, names in zip(self.plans, self._names, strict=True):
            own = {name: values[here] for name, here in names.items()}
            yield plan, {_LAYOUTS: values[_LAYOUTS], **own}

    @cached_property
    def _names(self) -> tuple[Mapping[str, str], ...]:
        """Of each plan, what its knobs are called here: those of an earlier plan come first.

        Two products have a tile of `i` each: the second's is `STAGE.tile_i`.
        """
        taken: set[str] = set()
        found = []
        for plan in self.plans:
            own = Knobs(plan.stage)
            plan.declare(self.problem, self.schedule, own)
            prefix = f"{plan.stage.partition('.')[0]}." if taken & own.names else ""
            found.append({name: f"{prefix}{name}" for name in own.names})
            taken |= {*found[-1].values()}
        return tuple(found)

    @property
    def _vectors(self) -> Vectors:
        return max((plan.vectors for plan in self.plans), key=lambda one: len(one.choices))
