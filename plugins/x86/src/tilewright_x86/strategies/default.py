"""Any operator with a definition: vectors along the last axis, the others in parallel."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.task import Task
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.schedule.schedule import Schedule
from tilewright_tensor.sketches.structure.loops import fused
from tilewright_tensor.strategies.default_implementation import DefaultImplementation
from tilewright_x86.strategies.tiles.vector_blocks import lanes


class Default(DefaultImplementation):
    """The schedule of last resort."""

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """Whether the last axis is computed in vectors; with indexes that jump it need not pay."""
        knobs = Knobs(self.name)
        knobs.define_knob("vectorize", [True] if self.own_program(task) else [True, False])
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """In vectors."""
        return ConfigEntity(self.name, {"vectorize": True})

    def nest(self, task: Task, config: ConfigEntity, schedule: Schedule, stage: str) -> Schedule:
        """Parallel but for the last axis; a sum goes on in registers."""
        s, width = schedule, lanes(task) if config["vectorize"] else 1
        spatial = [loop for loop in s.loops(stage) if loop not in s.stages[stage].reductions()]
        if not spatial:
            return s
        reduces = len(spatial) < len(s.loops(stage))
        if reduces:
            s = s.cache_write(stage, "register")
            spatial = list(s.loops(stage))
        *around, last = spatial
        s = s.split(stage, last, [width])
        around.append(f"{last}.0")
        if width > 1:
            s = s.vectorize(stage, f"{last}.1")
        s, one = fused(s, stage, around)
        s = s.parallel(stage, one)
        if reduces:
            total = f"{stage}.register"
            s = s.compute_at(total, stage, one, "register")
            loops = s.loops(total)
            inner = loops[len(spatial) - 1]
            s = s.reorder(total, [loop for loop in loops if loop != inner] + [inner])
            s = s.vectorize(total, inner) if width > 1 else s
        return s


def make(operators: Operators) -> Default:
    """The strategy's implementation."""
    return Default(operators, "default.x86")
