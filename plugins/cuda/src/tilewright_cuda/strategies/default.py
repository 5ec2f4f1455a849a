"""Any operator with a definition: a thread an element, every stage in a launch of its own.

What is tuned is the number of threads only; it is what keeps a network with an unusual operator
running as generated code.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewright.config import ConfigEntity
from tilewright.layouts import Layouts
from tilewright.space.alternative import Alternative
from tilewright.space.knobs import Knobs
from tilewright.task import Task
from tilewright_cuda.strategies.tensor_schedule import fused, logical_layouts
from tilewright_tensor.dag import Dag, Tensor, operations_per_element
from tilewright_tensor.operators.operators import Operators
from tilewright_tensor.schedule import Schedule
from tilewright_tensor.tensor_schedule import TensorSchedule


class Default(TensorSchedule):
    """The schedule of last resort; layouts stay logical."""

    name = "default.cuda"

    def applies(self, task: Task) -> bool:
        """Every operator with a definition."""
        return task.workload.operator in self.operators

    def alternatives(self, task: Task) -> Sequence[Alternative]:
        """Threads of a block."""
        knobs = Knobs(self.name)
        knobs.define_knob("block", [64, 128, 256, 512])
        return [knobs.alternative()]

    def fallback(self, task: Task) -> ConfigEntity:
        """256 threads."""
        return ConfigEntity(self.name, {"block": 256})

    def layouts(self, task: Task, config: ConfigEntity) -> Layouts:
        """Logical throughout, but for a layout transform, which is between the two it names."""
        workload = task.workload
        found = logical_layouts(task, len(self.operators.output(workload).shape))
        if workload.operator != "layout_transform":
            return found
        source, target = workload.attributes["src"], workload.attributes["dst"]
        return Layouts((source, *found.inputs[1:]), (target,), found.packed - {0})

    def scheduled(self, task: Task, config: ConfigEntity, schedule: Schedule) -> Schedule:
        """Stages that rearrange or are cheap are inlined; each other becomes a launch."""
        s = schedule
        for tensor in s.dag.computes:
            if _inlined(tensor, s.dag):
                s = s.inline(tensor)
        for name in tuple(s.stages):
            s = one_thread_an_element(s, name, config["block"])
        return s


def one_thread_an_element(s: Schedule, stage: str, block: int) -> Schedule:
    """A launch in which every thread computes an element; a reduction goes on in a register."""
    found = s.stages[stage]
    if found.combiner is not None:
        s = s.cache_write(stage, "register")
    loops = s.loops(stage)
    if not loops:
        return s
    s, one = fused(s, stage, loops)
    s = s.split(stage, one, [min(block, max(1, prod(found.shape)))])
    s = s.bind(stage, f"{one}.0", "blockIdx.x").bind(stage, f"{one}.1", "threadIdx.x")
    if found.combiner is not None:
        s = s.compute_at(f"{stage}.register", stage, f"{one}.1", "register")
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
