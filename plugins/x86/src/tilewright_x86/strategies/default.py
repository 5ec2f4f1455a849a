"""Any operator with a definition: every stage in its own nest, vectors along the last axis.

The other axes run in parallel. Nothing is tuned here; it is what keeps a network with an unusual
operator running as generated code.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.config import ConfigEntity
from tilewright.layouts import Layouts
from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.task import Task
from tilewright_tensor.dag import Dag, Tensor, operations_per_element
from tilewright_tensor.layout import Layout
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.schedule import Schedule
from tilewright_tensor.tensor_schedule import TensorSchedule, constants
from tilewright_x86.strategies.tensor_schedule import lanes


class Default(TensorSchedule):
    """The schedule of last resort; layouts stay logical."""

    name = "default"

    def applies(self, task: Task) -> bool:
        """Every operator with a definition."""
        return task.workload.operator in self.operators

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """Whether the last axis is computed in vectors; with indexes that jump it need not pay."""
        knobs = Knobs(self.name)
        knobs.define_knob("vectorize", [True, False])
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """In vectors."""
        return ConfigEntity(self.name, {"vectorize": True})

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Logical throughout, but for a layout transform, which is between the two it names."""
        workload = task.workload
        inputs = [Layout.logical(len(spec.shape)).text for spec in workload.inputs]
        output = Layout.logical(len(self.operators.output(workload).shape)).text
        if workload.operator == "layout_transform":
            inputs[0], output = workload.attributes["src"], workload.attributes["dst"]
        return Layouts(tuple(inputs), (output,), constants(task) - {0})

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """Stages that rearrange or are cheap are inlined; each other becomes a parallel nest."""
        s = schedule
        for tensor in s.dag.computes:
            if _inlined(tensor, s.dag):
                s = s.inline(tensor)
        for name in tuple(s.stages):
            s = self._nest(s, name, lanes(task) if config["vectorize"] else 1)
        return s

    def _nest(self, schedule: Schedule, stage: str, width: int) -> Schedule:
        s = schedule
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
        if len(around) > 1:
            s = s.fuse(stage, around)
        s = s.parallel(stage, "@".join(around))
        if reduces:
            total = f"{stage}.register"
            s = s.compute_at(total, stage, "@".join(around), "register")
            loops = s.loops(total)
            inner = loops[len(spatial) - 1]
            s = s.reorder(total, [loop for loop in loops if loop != inner] + [inner])
            s = s.vectorize(total, inner) if width > 1 else s
        return s


def _inlined(tensor: Tensor, dag: Dag) -> bool:
    """Whether readers compute it: it only moves data, or one reader reads it outside a sum."""
    if tensor in dag.outputs or tensor.reduce_axes:
        return False
    readers = dag.readers(tensor)
    alone = len(readers) == 1 and not readers[0].reduce_axes
    return alone or operations_per_element(tensor) == 0


def make(operators: Operators) -> Default:
    """The strategy's working half."""
    return Default(operators)
