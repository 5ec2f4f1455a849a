"""A strategy's implementation with schedules derived by rules around a target's instructions."""

from __future__ import annotations

from tilewright.vocabulary.task import Task
from tilewright_tensor.sketches.nests.instructed_tiling import InstructedTiling
from tilewright_tensor.sketches.sketch import Sketch
from tilewright_tensor.sketches.strategy import Derived
from tilewright_tensor.sketches.structure.sketch_input import SketchInput


class DerivedProducts(Derived):
    """Operators with sums of products that an instruction adds; one alternative a sketch.

    Which instructions there are, the limits of a task's target say.
    """

    def applies(self, task: Task) -> bool:
        """Sums of products of two operands that the target has an instruction for."""
        if not (super().applies(task) and self.limits(task).instructions):
            return False
        return bool(self._derived(task)[1])

    def _derive(self, task: Task) -> tuple[SketchInput, dict[str, Sketch]]:
        """Of a task's sketches those with an instruction; the others are `Derived`'s."""
        problem, sketches = super()._derive(task)
        return problem, {
            name: sketch
            for name, sketch in sketches.items()
            if any(isinstance(plan, InstructedTiling) for plan in sketch.plans)
        }
